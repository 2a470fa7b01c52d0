/** A small live picture of a game, for its card: under random play, or by a policy; it rests while out of sight. */

import type { GameEntry, GameReference } from "@attract/schema";
import { useEffect, useRef, useState } from "react";
import { describeError, serverUrl } from "../api/client.ts";
import { Over } from "../components/over.tsx";
import { type Opened, Stage } from "../game/stage.ts";

/** In the place of a preview: a game that lives in a page has a process of its own, so that one moves at a time. */
export function StillPreview({ game }: { game: GameEntry }) {
  return (
    <div className="screen" aria-hidden="true">
      {game.card === null ? (
        <Over text="Lives in its page" />
      ) : (
        <img
          src={serverUrl(`api/games/${game.name}/card.jpg`).href}
          alt=""
          width="100%"
          height="100%"
          style={{ objectFit: "contain" }}
        />
      )}
    </div>
  );
}

interface GamePreviewProps {
  reference: GameReference;
  /** Fetches the model that plays, the same function at each call; null: chance plays. */
  policy: (() => Promise<Uint8Array>) | null;
  /** Whether the game is loaded even while its card is out of sight. */
  isNeeded: boolean;
  /** Told once what the game says of itself; the same function at each call. */
  onOpened?: (opened: Opened) => void;
}

async function play(stage: Stage, policy: () => Promise<Uint8Array>): Promise<void> {
  await stage.setPolicy(0, [await policy()], [0]);
  stage.start();
}

export function GamePreview({ reference, policy, isNeeded, onOpened }: GamePreviewProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [error, setError] = useState<unknown>(null);
  const loader = useRef<() => Stage | null>(() => null);

  useEffect(() => {
    let stage: Stage | null = null;
    const element = canvas.current as HTMLCanvasElement;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const load = (): Stage => {
      stage ??= new Stage({
        reference,
        canvas: element,
        player: policy === null ? "chance" : "policy",
        onOpened,
        onError: setError,
      });
      return stage;
    };
    loader.current = load;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry.isIntersecting) {
        const loaded = load();
        if (policy !== null) play(loaded, policy).catch(setError);
        else if (!still) loaded.start();
      } else stage?.stop();
    });
    seen.observe(element);
    return () => {
      seen.disconnect();
      stage?.close();
    };
  }, [reference, policy, onOpened]);

  useEffect(() => {
    if (isNeeded) loader.current();
  }, [isNeeded]);

  return (
    <div className="screen" aria-hidden="true">
      <canvas ref={canvas} />
      {error !== null && <Over text={describeError(error).text} />}
    </div>
  );
}
