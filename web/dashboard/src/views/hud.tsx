/** The line under the screen: score, best, step; redrawn a few times a second however fast the game runs. */

import type { GameInstance } from "attract/instance";
import { type ReactNode, useCallback, useRef, useState } from "react";
import { formatNumber } from "../state/format.ts";

const EVERY_MS = 120;

export interface Score {
  score: number;
  steps: number;
  best: number | null;
  episodes: number;
}

const NOTHING: Score = { score: 0, steps: 0, best: null, episodes: 0 };

/** The score of a sitting: `progress` after each frame, `end` after each episode. */
export function useScore(): {
  score: Score;
  progress: (instance: GameInstance) => void;
  end: (episodeReturn: number) => void;
} {
  const [score, setScore] = useState(NOTHING);
  const shownAt = useRef(0);
  const progress = useCallback((instance: GameInstance) => {
    const now = performance.now();
    if (now - shownAt.current < EVERY_MS && !instance.episodeOver) return;
    shownAt.current = now;
    const { episodeSteps: steps } = instance;
    const current = instance.episodeReturns[0];
    setScore((old) => ({ ...old, score: current, steps }));
  }, []);
  const end = useCallback((episodeReturn: number) => {
    setScore((old) => ({
      ...old,
      best: old.best === null ? episodeReturn : Math.max(old.best, episodeReturn),
      episodes: old.episodes + 1,
    }));
  }, []);
  return { score, progress, end };
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
