/** What the game writes to its console: the first copy of one worker, newest lines last. */

import type { LogLine } from "@attract/schema";
import { useEffect, useRef } from "react";

export function GameLog({ lines }: { lines: readonly LogLine[] }) {
  const list = useRef<HTMLOListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what it follows
  useEffect(() => {
    const { current } = list;
    if (current === null) return;
    // A person who has scrolled up is reading: only the end follows the newest line.
    const isAtEnd = current.scrollHeight - current.scrollTop - current.clientHeight < 80;
    if (isAtEnd) current.scrollTop = current.scrollHeight;
  }, [lines]);
  if (lines.length === 0) return null;
  return (
    <section className="section" aria-labelledby="log-title">
      <h2 id="log-title" className="section-title">
        Console of the game
      </h2>
      <p className="soft">The first copy of one worker; at most ten lines a second.</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <ol className="card game-log" ref={list} tabIndex={0}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity, and only move up
          <li key={index} data-level={line.level}>
            {line.dropped > 0 && <span className="soft">{`(${line.dropped} lines left out) `}</span>}
            {line.text}
          </li>
        ))}
      </ol>
    </section>
  );
}
