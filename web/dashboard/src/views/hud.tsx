/** The line under the screen: score, best, step; redrawn a few times a second however fast the game runs. */

import type { GameDefinition } from "attract";
import { ticksPerStep } from "attract/define-game";
import type { Player } from "attract/page/play";
import { type ReactNode, type RefObject, useCallback, useEffect, useState } from "react";
import { formatNumber } from "../state/format.ts";

const EVERY_MS = 120;

export interface Score {
  score: number;
  steps: number;
  best: number | null;
}

const NOTHING: Score = { score: 0, steps: 0, best: null };

/** The score of a sitting, read from the player a few times a second; `end` is to be called after each episode. */
export function useScore(
  player: RefObject<Player | null>,
  definition: GameDefinition,
): { score: Score; end: (episodeReturn: number) => void } {
  const [score, setScore] = useState(NOTHING);
  useEffect(() => {
    const { tickSeconds, secondsPerStep = tickSeconds } = definition;
    const perStep = ticksPerStep(tickSeconds, secondsPerStep);
    const timer = setInterval(() => {
      const instance = player.current?.instance;
      if (instance === undefined) return;
      const steps = Math.ceil(instance.episodeTicks / perStep);
      const current = instance.episodeReturns[0];
      setScore((old) =>
        old.score === current && old.steps === steps ? old : { ...old, score: current, steps },
      );
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [player, definition]);
  const end = useCallback((episodeReturn: number) => {
    setScore((old) => ({
      ...old,
      best: old.best === null ? episodeReturn : Math.max(old.best, episodeReturn),
    }));
  }, []);
  return { score, end };
}

export function Hud({ score, children }: { score: Score; children?: ReactNode }) {
  return (
    <div className="hud">
      <Item name="Score" value={formatNumber(score.score)} />
      <Item name="Best" value={formatNumber(score.best)} />
      <Item name="Step" value={String(score.steps)} />
      {children}
    </div>
  );
}

export function Item({ name, value }: { name: string; value: string }) {
  return (
    <span className="label">
      {name}
      <b data-testid={`hud-${name.toLowerCase()}`}>{value}</b>
    </span>
  );
}
