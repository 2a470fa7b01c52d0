/** A small live picture of a game under random play, for its card; it rests while out of sight. */

import type { GameReference } from "@attract/schema";
import { useEffect, useRef, useState } from "react";
import { describeError } from "../api/client.ts";
import { type Reset, Stage } from "../game/stage.ts";

/** The place of a preview: a game that lives in a page has a process of its own, so that one moves at a time. */
export function StillPreview() {
  return (
    <div className="screen" aria-hidden="true">
      <div className="over">
        <span className="small">Lives in its page</span>
      </div>
    </div>
  );
}

interface GamePreviewProps {
  reference: GameReference;
  /** Told once how a game that lives in a page begins its episodes; the same function at each call. */
  onReset: (reset: Reset) => void;
}

export function GamePreview({ reference, onReset }: GamePreviewProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [error, setError] = useState<unknown>(null);

  useEffect(() => {
    let stage: Stage | null = null;
    const element = canvas.current as HTMLCanvasElement;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry.isIntersecting) {
        stage ??= new Stage({
          reference,
          canvas: element,
          player: "chance",
          onOpened: ({ reset }) => onReset(reset),
          onError: setError,
        });
        if (!still) stage.start();
      } else stage?.stop();
    });
    seen.observe(element);
    return () => {
      seen.disconnect();
      stage?.close();
    };
  }, [reference, onReset]);

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
