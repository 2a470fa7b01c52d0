/** What an episode came to, for the wire. */

import type { EndReason, EpisodeResult } from "@attract/schema";
import type { Instance } from "attract/instance";

/** @param step step in the segment at which it ended. Metrics that the game never reported are left out. */
export function episodeResult(game: Instance, reason: EndReason, step: number): EpisodeResult {
  const { totals } = game;
  return {
    instance_id: game.instanceId,
    episode: game.episode,
    step,
    returns: Array.from(game.episodeReturns),
    length_steps: game.episodeSteps,
    length_ticks: game.episodeTicks,
    end_reason: reason,
    metrics: named(totals.metricNames, totals.metricValues),
    reward_terms: named(totals.termNames, totals.termSums),
  };
}

function named(names: readonly string[], values: Float64Array): Record<string, number> {
  const record: Record<string, number> = {};
  for (let i = 0; i < names.length; i++) {
    if (!Number.isNaN(values[i])) record[names[i]] = values[i];
  }
  return record;
}
