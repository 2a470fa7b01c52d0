/** A small live picture of a game under random play, for its card; it rests while out of sight. */

import type { GameReference } from "@attract/schema";
import { drawActions } from "attract/cost";
import { createPlayer, type Player } from "attract/page/play";
import { RandomPlayer } from "attract/random-play";
import { useEffect, useRef, useState } from "react";
import { describeError } from "../api/client.ts";
import { loadGame } from "../game/load-game.ts";
import { drawStill, screenOf } from "../game/screen.ts";

export function GamePreview({ reference }: { reference: GameReference }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [error, setError] = useState<unknown>(null);

  useEffect(() => {
    let player: Player | null = null;
    let isGone = false;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry.isIntersecting && !still) player?.start();
      else player?.stop();
    });
    loadGame(reference)
      .then((definition) => {
        const element = canvas.current;
        if (isGone || element === null) return;
        const seed = Math.floor(Math.random() * 2 ** 32);
        const chance = new RandomPlayer(definition.action, seed);
        player = createPlayer({
          definition,
          canvas: screenOf(element),
          controller: { choose: (instance) => drawActions(instance, chance) },
          seed,
          onError: setError,
        });
        drawStill(element, player.instance);
        seen.observe(element);
      })
      .catch((problem: unknown) => isGone || setError(problem));
    return () => {
      isGone = true;
      seen.disconnect();
      player?.stop();
    };
  }, [reference]);

  return (
    <div className="screen" aria-hidden="true">
      <canvas ref={canvas} />
      {error !== null && (
        <div className="over">
          <span className="small">{describeError(error).text}</span>
        </div>
      )}
    </div>
  );
}
