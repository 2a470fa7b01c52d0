/** What a run is doing, as a word and a coloured dot. */

import type { RunView } from "@attract/schema";

const LOOKS: Readonly<Record<RunView["state"], { text: string; tone: "go" | "wait" | "bad" | "none" }>> = {
  starting: { text: "Starting", tone: "wait" },
  running: { text: "Training", tone: "go" },
  paused: { text: "Paused", tone: "wait" },
  evaluating: { text: "Evaluating", tone: "go" },
  finished: { text: "Finished", tone: "go" },
  stopped: { text: "Stopped", tone: "none" },
  failed: { text: "Failed", tone: "bad" },
  damaged: { text: "Damaged", tone: "bad" },
};

const WAITING = { text: "Waiting for workers", tone: "wait" } as const;

function lookOf(state: RunView["state"], isWaiting: boolean) {
  return isWaiting ? WAITING : LOOKS[state];
}

/** What the pill says. */
export function stateText(state: RunView["state"], isWaiting: boolean): string {
  return lookOf(state, isWaiting).text;
}

interface StatePillProps {
  state: RunView["state"];
  /** Whether it would go on if only there were workers. */
  isWaiting?: boolean;
}

export function StatePill({ state, isWaiting = false }: StatePillProps) {
  const { text, tone } = lookOf(state, isWaiting);
  return (
    <span className="state-pill" data-tone={tone} data-state={state}>
      {text}
    </span>
  );
}
