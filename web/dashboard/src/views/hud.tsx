/** The line under the screen: score, best, step; redrawn a few times a second however fast the game runs. */

import { Button, Group, NativeSelect } from "@mantine/core";
import { type ReactNode, type RefObject, useCallback, useEffect, useState } from "react";
import type { Stage } from "../game/stage.ts";
import { SPEEDS } from "../game/transport.ts";
import { formatNumber } from "../state/format.ts";

const EVERY_MS = 120;

export interface Score {
  score: number;
  steps: number;
  best: number | null;
}

const NOTHING: Score = { score: 0, steps: 0, best: null };

/** The score of a session, read from the stage a few times a second; `end` is to be called after each episode. */
export function useScore(stage: RefObject<Stage | null>): {
  score: Score;
  end: (episodeReturn: number) => void;
} {
  const [score, setScore] = useState(NOTHING);
  useEffect(() => {
    const timer = setInterval(() => {
      if (stage.current === null) return;
      const { score: current, steps } = stage.current;
      setScore((old) =>
        old.score === current && old.steps === steps ? old : { ...old, score: current, steps },
      );
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [stage]);
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
    <HudLine>
      <Item name="Score" value={formatNumber(score.score)} />
      <Item name="Best" value={formatNumber(score.best)} />
      <Item name="Step" value={String(score.steps)} />
      {children}
    </HudLine>
  );
}

export function HudLine({ children }: { children?: ReactNode }) {
  return (
    <Group className="hud" gap="6px 14px" px={4} pt={10} mih={46}>
      {children}
    </Group>
  );
}

interface HudButtonProps {
  text: string;
  label: string;
  isDisabled?: boolean;
  onClick: () => void;
}

export function HudButton({ text, label, isDisabled = false, onClick }: HudButtonProps) {
  return (
    <Button
      size="compact-sm"
      variant="outline"
      color="dark.2"
      disabled={isDisabled}
      bg={isDisabled ? "none" : undefined}
      c={isDisabled ? "dimmed" : undefined}
      onClick={onClick}
      aria-label={label}
    >
      {text}
    </Button>
  );
}

export function SpeedSelect({ speed, onSpeed }: { speed: number; onSpeed: (speed: number) => void }) {
  return (
    <NativeSelect
      size="xs"
      w={72}
      aria-label="Speed of the game"
      styles={{ input: { background: "none", color: "var(--ink)" } }}
      value={String(speed)}
      data={SPEEDS.map(([value, label]) => ({ value: String(value), label }))}
      onChange={(event) => onSpeed(Number(event.currentTarget.value))}
    />
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
