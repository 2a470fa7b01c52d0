/** Plays a recorded episode again without drawing it, and says where it first differs (rule C5). */

import type { EpisodeDifference, EpisodeError, EpisodeReplay } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { episodeError } from "../game/failures.ts";
import type { PreloadedGames } from "../page/preloaded-games.ts";
import { YIELD_MS } from "../rollout/yielding.ts";
import type { EpisodeScript } from "./episode-script.ts";

export interface ReplayEpisodeOptions {
  definition: GameDefinition;
  /** Frames of a game that lives in a page: each episode needs one of its own. Default: null. */
  preloaded?: PreloadedGames | null;
  /** Gives the event loop its turn. */
  yieldTurn(): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
}

/** Plays until the end, or until the first difference. Rejects with whatever else than a game's error was thrown. */
export async function replayEpisode(
  script: EpisodeScript,
  options: ReplayEpisodeOptions,
): Promise<EpisodeReplay> {
  const began = options.now();
  const instance = createInstance(options.definition);
  let difference: EpisodeDifference | null = null;
  let error: EpisodeError | null = null;
  try {
    try {
      difference = await play(script, instance, options);
    } catch (thrown) {
      error = episodeError(thrown, instance);
    }
    difference ??= script.endDifference(instance, error);
  } finally {
    instance.game.dispose?.();
  }
  const isOver = instance.episodeOver && instance.endReason !== null;
  return {
    equal: difference === null,
    difference,
    returns: [...instance.episodeReturns],
    num_steps: instance.episodeSteps + (error === null || error.tick === 0 ? 0 : 1),
    num_ticks: error === null ? instance.episodeTicks : error.tick,
    end_reason: error !== null ? "failed" : isOver ? (instance.endReason ?? "stopped") : "stopped",
    error,
    play_seconds: (options.now() - began) / 1000,
  };
}

async function play(
  script: EpisodeScript,
  instance: Instance,
  { definition, preloaded = null, yieldTurn, now }: ReplayEpisodeOptions,
): Promise<EpisodeDifference | null> {
  const { seed, instance: stream, episode, parameters } = script.episode;
  instance.setStream(seed.low, seed.high, stream);
  const waiting = preloaded?.preload() ?? null;
  if (waiting !== null) await waiting;
  const starting = instance.startAhead(episode, parameters);
  if (starting !== null) await starting;
  instance.start(episode, parameters);
  const hasTurns = definition.page?.turns ?? false;
  let lastYield = now();
  for (let step = 0; step < script.numSteps; step++) {
    const difference = script.difference(step, instance);
    if (difference !== null) return difference;
    const action = script.action(step, instance);
    if (hasTurns) await instance.stepAhead(action);
    instance.step(action);
    if (instance.episodeOver) return null;
    if (now() - lastYield >= YIELD_MS) {
      await yieldTurn();
      lastYield = now();
    }
  }
  return null;
}
