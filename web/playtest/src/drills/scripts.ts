/** Recorded episodes that a drill begins in. */

import type { RecordedEpisode } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { EpisodeMismatch, EpisodeScript } from "../../../worker/src/episode/episode-script.ts";

/** Those that are of this game: an older build may have recorded others. */
export async function scriptsOf(
  definition: GameDefinition,
  episodes: readonly RecordedEpisode[],
): Promise<EpisodeScript[]> {
  const scripts: EpisodeScript[] = [];
  for (const episode of episodes)
    try {
      scripts.push(await EpisodeScript.of(definition, episode));
    } catch (error) {
      if (!(error instanceof EpisodeMismatch)) throw error;
    }
  return scripts;
}
