/** What a study is doing, as a word and a coloured dot. */

import type { StudyView } from "@attract/schema";

const LOOKS: Readonly<Record<StudyView["state"], { text: string; tone: "go" | "wait" | "bad" | "none" }>> = {
  searching: { text: "Searching", tone: "go" },
  confirming: { text: "Confirming", tone: "go" },
  finished: { text: "Finished", tone: "go" },
  stopped: { text: "Stopped", tone: "none" },
  failed: { text: "Failed", tone: "bad" },
};

export function StudyPill({ state }: { state: StudyView["state"] }) {
  const { text, tone } = LOOKS[state];
  return (
    <span className="state-pill" data-tone={tone} data-state={state}>
      {text}
    </span>
  );
}
