/** What a study's page shows: its front, the order of its trials, settings as texts. */

import type { StudyConfirmation, StudyTrial, StudyView } from "@attract/schema";
import { formatNumber } from "./format.ts";

/** A trial by its two measures. */
export interface Point {
  number: number;
  score: number;
  seconds: number;
  onFront: boolean;
}

/** The finished trials that have a score, the quickest first. */
export function pointsOf(trials: readonly StudyTrial[]): Point[] {
  const points: Point[] = [];
  for (const { number, state, score, seconds, on_front } of trials) {
    if (state === "finished" && score !== null && seconds !== null)
      points.push({ number, score, seconds, onFront: on_front });
  }
  return points.sort((a, b) => a.seconds - b.seconds || a.score - b.score);
}

/** What runs first, then by score, the highest first; those without a score last, in their order. */
export function sortedTrials(trials: readonly StudyTrial[]): StudyTrial[] {
  const rank = ({ state }: StudyTrial) => ["running", "finished", "pruned", "failed"].indexOf(state);
  return [...trials].sort(
    (a, b) => rank(a) - rank(b) || (b.score ?? -Infinity) - (a.score ?? -Infinity) || a.number - b.number,
  );
}

/** One value as it would be written: lists with commas, unset as `none`. */
export function settingText(value: StudyTrial["settings"][string]): string {
  if (value === null || value === undefined) return "none";
  return Array.isArray(value) ? value.join(",") : String(value);
}

/** The settings of a trial in a line, without their sections. */
export function settingsText({ number, settings }: StudyTrial): string {
  if (number === 0) return "the defaults";
  return Object.entries(settings)
    .map(([name, value]) => `${name.split(".").at(-1)} ${settingText(value)}`)
    .join(", ");
}

/** Who was confirmed, in a sentence with what came of it. */
export function confirmationText({ trial, seeds, scores, seconds, verdict }: StudyConfirmation): string {
  const who = trial === 0 ? "The defaults" : `Trial ${trial}`;
  if (seeds.length === 0) return `${who}: not run yet`;
  const against = verdict === null ? "" : `: ${verdict}`;
  const count = seeds.length === 1 ? "1 fresh seed" : `${seeds.length} fresh seeds`;
  return `${who}, ${count}: score ${formatNumber(mean(scores))}, ${formatNumber(mean(seconds))} s${against}`;
}

/** What the study has come to, in a sentence. */
export function outcomeText({ state, trials, num_trials, winner }: StudyView): string {
  const done = trials.filter(({ state }) => state !== "running").length;
  if (state === "searching") return `${done} of ${num_trials} trials have finished.`;
  if (state === "confirming") return "The best trials and the defaults are trained again on fresh seeds.";
  if (state === "stopped")
    return `Stopped after ${done} of ${num_trials} trials. Run the same command to continue.`;
  if (state === "failed") return "The study failed.";
  return winner === null
    ? "No trial was better than the defaults on fresh seeds."
    : `Trial ${winner} was better than the defaults on fresh seeds.`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
