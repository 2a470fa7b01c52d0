/** What a run or a study is doing, as a word and a coloured dot. */

import type { RunView } from "@attract/schema";
import { lookOf, type Tone } from "../state/run-state.ts";

interface PillProps {
  state: string;
  look: readonly [text: string, tone: Tone];
}

export function Pill({ state, look: [text, tone] }: PillProps) {
  return (
    <span className="state-pill" data-tone={tone} data-state={state}>
      {text}
    </span>
  );
}

interface StatePillProps {
  state: RunView["state"];
  /** Whether only workers are missing. */
  isWaiting?: boolean;
}

export function StatePill({ state, isWaiting = false }: StatePillProps) {
  return <Pill state={state} look={lookOf(state, isWaiting)} />;
}
