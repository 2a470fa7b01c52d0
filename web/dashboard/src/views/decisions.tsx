/** What the policy makes of its choices at each step, and which one is held, beside the screen. */

import type { GameDescription } from "@attract/schema";
import type { Decision } from "@attract/worker/stage/stage-messages";
import { type RefObject, useEffect, useState } from "react";
import { choicesOf } from "../game/choices.ts";

interface DecisionsProps {
  description: Pick<GameDescription, "keys" | "action">;
  /** Where it listens: called with each decision, so that nothing else of the page is drawn anew with it. */
  listener: RefObject<((decision: Decision) => void) | null>;
  /** Who decides. */
  title: string;
  /** Tells it from others on the page. Default: Decisions. */
  name?: string;
}

export function Decisions({ description, listener, title, name = "Decisions" }: DecisionsProps) {
  const [decision, setDecision] = useState<Decision | null>(null);
  useEffect(() => {
    listener.current = setDecision;
    return () => {
      listener.current = null;
    };
  }, [listener]);
  const nothing = { action: -1, probabilities: new Float64Array(0) };
  const choices = choicesOf(description, decision ?? nothing);
  if (choices.length === 0) return null;
  return (
    <section className="decisions" aria-label={name} data-testid="decisions">
      <span className="label">{title}</span>
      <ul>
        {choices.map(({ label, keys, probability, isTaken }) => (
          <li key={label} data-taken={isTaken}>
            <span>{label}</span>
            {keys.map((name) => (
              <kbd key={name}>{name}</kbd>
            ))}
            <span className="percent">
              {probability === null ? "" : `${Math.round(100 * probability)} %`}
            </span>
            <span className="bar" style={{ transform: `scaleX(${probability ?? 0})` }} />
          </li>
        ))}
      </ul>
    </section>
  );
}
