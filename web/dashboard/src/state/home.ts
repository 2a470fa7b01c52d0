/** What Home and the page of a game show of runs. */

import type { GameEntry, RunList, RunRow } from "@attract/schema";

/** Whether there is no run yet; a server that has just started may not have read all of them. */
export function isFirstVisit({ num_found, num_unread }: RunList, liveRun: string | null): boolean {
  return liveRun === null && num_found === 0 && num_unread === 0;
}

/** The run with the highest return that has a policy; null: none. */
export function bestRun(runs: readonly RunRow[]): RunRow | null {
  const value = (run: RunRow) => run.episode_return_mean ?? Number.NEGATIVE_INFINITY;
  return runs
    .filter((run) => run.policy_version > 0 && run.state !== "damaged")
    .reduce<RunRow | null>((best, run) => (best === null || value(run) > value(best) ? run : best), null);
}

/** The game that a first visitor is shown: the one that is most fun to see among those with a trained agent. */
export function showpiece(games: readonly GameEntry[]): GameEntry | null {
  const trained = games.filter((game) => game.error === null && (game.card?.trained_return ?? null) !== null);
  return trained.find((game) => game.name === "lander") ?? trained[0] ?? null;
}
