/** What Home and the page of a game show of runs. */

import type { GameEntry, RunRow } from "@attract/schema";
import { isOver } from "./run-state.ts";

/** Newest first, those of one game only if `game` is given. Runs without an update are left out, unless they go on. */
export function newestRuns(runs: readonly RunRow[], count: number, game: string | null = null): RunRow[] {
  return runs
    .filter((run) => game === null || run.game === game)
    .filter((run) => run.updates > 0 || !isOver(run.state))
    .sort((a, b) => b.created.localeCompare(a.created))
    .slice(0, count);
}

/** The run of a game with the highest return that has a policy; null: none. */
export function bestRun(runs: readonly RunRow[], game: string): RunRow | null {
  const value = (run: RunRow) => run.episode_return_mean ?? Number.NEGATIVE_INFINITY;
  return runs
    .filter((run) => run.game === game && run.policy_version > 0 && run.state !== "damaged")
    .reduce<RunRow | null>((best, run) => (best === null || value(run) > value(best) ? run : best), null);
}

/** The game that a first visitor is shown: the one that is most fun to see among those with a trained agent. */
export function showpiece(games: readonly GameEntry[]): GameEntry | null {
  const trained = games.filter((game) => game.error === null && (game.card?.trained_return ?? null) !== null);
  return trained.find((game) => game.name === "lander") ?? trained[0] ?? null;
}
