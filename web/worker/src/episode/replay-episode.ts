/** Plays a recorded episode again without drawing it, and says where it first differs (rule C5). */

import type { EpisodeReplay } from "@attract/schema";
import { YIELD_MS } from "../rollout/yielding.ts";
import { EpisodePlay, type EpisodePlayOptions } from "./episode-play.ts";
import type { EpisodeScript } from "./episode-script.ts";

export interface ReplayEpisodeOptions extends Pick<EpisodePlayOptions, "definition" | "preloaded"> {
  /** Gives the event loop its turn. */
  yieldTurn(): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
}

/** Plays until the end, or until the first difference. Rejects with whatever else than a game's error was thrown. */
export async function replayEpisode(
  script: EpisodeScript,
  { definition, preloaded, yieldTurn, now }: ReplayEpisodeOptions,
): Promise<EpisodeReplay> {
  const began = now();
  const play = new EpisodePlay(script, { definition, preloaded });
  const { instance } = play;
  let difference: EpisodeReplay["difference"];
  try {
    await play.begin();
    let lastYield = now();
    for (;;) {
      difference = play.difference();
      if (difference !== null || play.isAtEnd) break;
      const ahead = play.advance();
      if (ahead !== null) await ahead;
      if (now() - lastYield >= YIELD_MS) {
        await yieldTurn();
        lastYield = now();
      }
    }
  } finally {
    instance.game.dispose?.();
  }
  const { error } = play;
  const reason = instance.episodeOver ? instance.endReason : null;
  return {
    equal: difference === null,
    difference,
    returns: [...instance.episodeReturns],
    num_steps: play.numSteps,
    num_ticks: error === null ? instance.episodeTicks : error.tick,
    end_reason: error === null ? (reason ?? "stopped") : "failed",
    error,
    play_seconds: (now() - began) / 1000,
  };
}
