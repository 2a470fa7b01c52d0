/** What a run does before its first update, in words. */

import type { BeginningView } from "@attract/schema";

const STAGES: Readonly<Record<BeginningView["stage"], string>> = {
  game: "loading the game",
  learner: "starting the learner",
  workers: "waiting for the rest of the workers",
  warmup: "warming up",
  batch: "playing the first batch",
  update: "learning from the first batch",
};

/**
 * The stage, with steps, speed and time left where it is measured by steps.
 *
 * `beginning_text` of the terminal says the same: both are held to `tests/contract/golden/beginnings.json`.
 */
export function beginningText(beginning: BeginningView): string {
  const { stage, seconds, steps, total_steps: total, max_seconds: maxSeconds } = beginning;
  if (total === 0) return `${STAGES[stage]}: ${Math.round(seconds)} s so far`;
  const parts = [`${STAGES[stage]}: ${steps.toLocaleString("en")} of ${total.toLocaleString("en")} steps`];
  const left = maxSeconds === null ? [] : [maxSeconds - seconds];
  if (steps > 0 && seconds > 0) {
    const speed = steps / seconds;
    parts.push(`${Math.round(speed).toLocaleString("en")} steps/s`);
    left.push((total - steps) / speed);
  }
  if (left.length > 0) parts.push(`${Math.round(Math.max(0, Math.min(...left)))} s left`);
  return parts.join(", ");
}
