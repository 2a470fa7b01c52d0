/** What a browser's tab says of a run from afar: its title and the colour of its icon. */

import type { RunView } from "@attract/schema";
import { formatNumber } from "./format.ts";
import { lookOf, type Tone } from "./run-state.ts";

type Shown = Pick<
  RunView,
  "state" | "title" | "game" | "episode_return_mean" | "goal_reached" | "evaluation"
>;

/** Such as "482 · Training · CartPole"; `name`: what people call the run. */
export function titleOf(run: Shown, isWaiting: boolean, name = ""): string {
  const solved = run.goal_reached ? run.evaluation?.return_mean : undefined;
  const mean = solved ?? run.episode_return_mean;
  const number = mean === null ? [] : [formatNumber(mean)];
  return [...number, wordOf(run, isWaiting), name || run.title || run.game].join(" · ");
}

export function toneOf(run: Shown, isWaiting: boolean): Tone {
  return lookOf(run.state, isWaiting)[1];
}

function wordOf(run: Shown, isWaiting: boolean): string {
  if (isWaiting) return "Waiting";
  return run.state === "finished" && run.goal_reached ? "Solved" : lookOf(run.state)[0];
}

const COLORS: Readonly<Record<Tone, string>> = {
  go: "#22b573",
  wait: "#ffc53d",
  bad: "#ff5c4d",
  done: "#4c8dff",
  none: "#8b93ad",
};

/** The page's icon with a light in the colour of the run's state, as a data URL. */
export function iconOf(tone: Tone): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1b1d27"/><rect x="14.4" y="12" width="3.2" height="10" rx="1.6" fill="#8b93ad"/><circle cx="16" cy="11" r="7.5" fill="${COLORS[tone]}"/><rect x="6" y="20" width="20" height="6.4" rx="3.2" fill="#f6f5f1"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
