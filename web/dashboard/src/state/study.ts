/** What a study's page shows: its front, the order of its trials, settings as texts. */

import type { StudyConfirmation, StudyTrial, StudyView } from "@attract/schema";
import type { DrawnLine } from "./drawn-lines.ts";
import { formatDuration, formatNumber } from "./format.ts";
import { settingText } from "./run-table.ts";

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

/** Between two trials that took equally long, as a share of their seconds: a line has one point at each place. */
const APART = 1e-9;

/** The front as a line, and the other trials, the defaults and the winner as dots; what has no point is left out. */
export function frontLines(
  points: readonly Point[],
  winner: number | null,
  colors: { readonly lines: readonly string[]; readonly text: string },
): DrawnLine[] {
  const line = (id: string, name: string, color: string, chosen: readonly Point[], isScatter = true) => {
    const x: number[] = [];
    for (const { seconds } of chosen) x.push(Math.max(seconds, (x.at(-1) ?? -1) * (1 + APART)));
    const nameAt = (place: number) => {
      const point = chosen[x.indexOf(place)];
      if (point === undefined) return name;
      const trial = id === "defaults" ? "" : `: trial ${point.number}`;
      return `${name}${trial} in ${formatDuration(point.seconds)}, score`;
    };
    const values = chosen.map(({ score }) => score);
    return { id, name, color, hasDots: true, isScatter, nameAt, x, values, low: null, high: null };
  };
  const [front, defaults, best] = colors.lines;
  const isNamed = ({ number }: Point) => number === 0 || number === winner;
  return [
    line(
      "front",
      "Best for its time",
      front,
      points.filter(({ onFront }) => onFront),
      false,
    ),
    line(
      "trials",
      "Other trials",
      colors.text,
      points.filter((point) => !point.onFront && !isNamed(point)),
    ),
    line(
      "defaults",
      "The defaults",
      defaults,
      points.filter(({ number }) => number === 0),
    ),
    line(
      "winner",
      "The winner",
      best,
      points.filter(({ number }) => number === winner),
    ),
  ].filter(({ x }) => x.length > 0);
}

/** What runs first, then by score, the highest first; those without a score last, in their order. */
export function sortedTrials(trials: readonly StudyTrial[]): StudyTrial[] {
  const rank = ({ state }: StudyTrial) => ["running", "finished", "pruned", "failed"].indexOf(state);
  return [...trials].sort(
    (a, b) => rank(a) - rank(b) || (b.score ?? -Infinity) - (a.score ?? -Infinity) || a.number - b.number,
  );
}

/** The trials by what a column is sorted by: a number of theirs or a setting, with `-` before it from the largest; "" as `sortedTrials`. */
export function orderedTrials(trials: readonly StudyTrial[], sort: string): StudyTrial[] {
  const sorted = sortedTrials(trials);
  if (sort === "") return sorted;
  const [name, sign] = sort.startsWith("-") ? [sort.slice(1), -1] : [sort, 1];
  const valueIn = (trial: StudyTrial) => {
    if (name === "trial") return trial.number;
    if (name === "score") return trial.score;
    if (name === "seconds") return trial.seconds;
    if (name === "steps") return trial.agent_steps;
    return trial.settings[name];
  };
  const isMissing = (value: unknown) => value === null || value === undefined;
  return sorted.sort((a, b) => {
    const [one, other] = [valueIn(a), valueIn(b)];
    if (isMissing(one) || isMissing(other)) return Number(isMissing(one)) - Number(isMissing(other));
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * settingText(one).localeCompare(settingText(other), "en");
  });
}

/** Paths of the settings that some trial has. */
export function searchedSettings(trials: readonly StudyTrial[]): string[] {
  return [...new Set(trials.flatMap(({ settings }) => Object.keys(settings)))];
}

/** Which trials were confirmed, with the result, in a sentence. */
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
