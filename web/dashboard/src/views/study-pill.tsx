/** What a study is doing, as a word and a coloured dot. */

import type { StudyView } from "@attract/schema";
import { Pill } from "../components/state-pill.tsx";
import type { Tone } from "../state/run-state.ts";

const LOOKS: Readonly<Record<StudyView["state"], readonly [text: string, tone: Tone]>> = {
  searching: ["Searching", "go"],
  confirming: ["Confirming", "go"],
  finished: ["Finished", "done"],
  stopped: ["Stopped", "none"],
  failed: ["Failed", "bad"],
};

export function StudyPill({ state }: { state: StudyView["state"] }) {
  return <Pill state={state} look={LOOKS[state]} />;
}
