/** What a run or a study is doing, as a word and a coloured dot. */

import type { RunView, StudyView } from "@attract/schema";
import { Badge } from "@mantine/core";
import { memo } from "react";
import { lookOf, type Tone } from "../state/run-state.ts";

const COLORS: Readonly<Record<Tone, string>> = {
  go: "var(--go)",
  done: "var(--go)",
  wait: "var(--wait)",
  bad: "var(--stick)",
  none: "var(--soft)",
};

interface PillProps {
  state: string;
  look: readonly [text: string, tone: Tone];
}

function Pill({ state, look: [text, tone] }: PillProps) {
  return (
    <Badge color={COLORS[tone]} data-testid="state" data-state={state}>
      {text}
    </Badge>
  );
}

interface StatePillProps {
  state: RunView["state"];
  /** Whether only workers are missing. */
  isWaiting?: boolean;
}

/** Kept as it is where a table of many rows is scrolled. */
export const StatePill = memo(function StatePill({ state, isWaiting = false }: StatePillProps) {
  return <Pill state={state} look={lookOf(state, isWaiting)} />;
});

const STUDY_LOOKS: Readonly<Record<StudyView["state"], readonly [text: string, tone: Tone]>> = {
  searching: ["Searching", "go"],
  confirming: ["Confirming", "go"],
  finished: ["Finished", "done"],
  stopped: ["Stopped", "none"],
  failed: ["Failed", "bad"],
};

export function StudyPill({ state }: { state: StudyView["state"] }) {
  return <Pill state={state} look={STUDY_LOOKS[state]} />;
}
