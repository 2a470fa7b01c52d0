/** A small live picture of a game under random play, for its card; it rests while out of sight. */

import type { GameReference } from "@attract/schema";
import { describe } from "attract";
import { useEffect, useRef, useState } from "react";
import { describeError } from "../api/client.ts";
import { randomAction } from "../game/actions.ts";
import { loadGame } from "../game/load-game.ts";
import { StageLoop } from "../game/stage-loop.ts";

export function GamePreview({ reference }: { reference: GameReference }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [error, setError] = useState<unknown>(null);

  useEffect(() => {
    let loop: StageLoop | null = null;
    let isGone = false;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry.isIntersecting && !still) loop?.start();
      else loop?.stop();
    });
    loadGame(reference)
      .then((definition) => {
        if (isGone || canvas.current === null) return;
        const { action } = describe(definition);
        loop = new StageLoop({
          definition,
          canvas: canvas.current,
          choose: () => randomAction(action, Math.random),
          seed: Math.floor(Math.random() * 2 ** 32),
          onError: setError,
          restMs: 500,
        });
        loop.draw();
        seen.observe(canvas.current);
      })
      .catch((problem: unknown) => isGone || setError(problem));
    return () => {
      isGone = true;
      seen.disconnect();
      loop?.stop();
    };
  }, [reference]);

  return (
    <div className="screen">
      <canvas ref={canvas} role="img" aria-label="The game, played at random" />
      {error !== null && (
        <div className="over">
          <span className="small">{describeError(error).text}</span>
        </div>
      )}
    </div>
  );
}
