/** What an episode came to, for the wire. */

import type { EndReason, EpisodeResult } from "@attract/schema";
import type { Instance } from "attract/instance";

/**
 * Metrics that the game never reported are left out.
 *
 * @param step step in the segment at which it ended.
 * @param lessonId lesson of the lease under which it was started.
 */
export function episodeResult(
  game: Instance,
  reason: EndReason,
  step: number,
  lessonId: string | null = null,
): EpisodeResult {
  const { totals } = game;
  return {
    instance_id: game.instanceId,
    episode: game.episode,
    step,
    returns: numbers(game.episodeReturns),
    length_steps: game.episodeSteps,
    length_ticks: game.episodeTicks,
    end_reason: reason,
    metrics: metricsOf(game),
    reward_terms: named(totals.termNames, totals.termSums),
    lesson_id: lessonId,
  };
}

/** The game's own metrics as it reduces them, without those that it never reported. */
export function metricsOf({ totals }: Instance): Record<string, number> {
  return named(totals.metricNames, totals.metricValues);
}

/** Result of an episode that could not be started: it is cut before its first step. */
export function unplayedResult(
  instanceId: number,
  numAgents: number,
  lessonId: string | null,
): EpisodeResult {
  return {
    instance_id: instanceId,
    episode: 0,
    step: 0,
    returns: new Array<number>(numAgents).fill(0),
    length_steps: 0,
    length_ticks: 0,
    end_reason: "cut",
    metrics: {},
    reward_terms: {},
    lesson_id: lessonId,
  };
}

/** `Array.from` asks a typed array for an iterator, which costs more than the rest of the result. */
function numbers(values: Float64Array): number[] {
  const array: number[] = [];
  for (let i = 0; i < values.length; i++) array.push(values[i]);
  return array;
}

function named(names: readonly string[], values: Float64Array): Record<string, number> {
  const record: Record<string, number> = {};
  for (let i = 0; i < names.length; i++) {
    if (!Number.isNaN(values[i])) record[names[i]] = values[i];
  }
  return record;
}
