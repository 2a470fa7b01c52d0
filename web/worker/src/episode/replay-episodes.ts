/** Does a `replay_episodes` order: one episode after the other, each on a fresh copy of the game. */

import type { EpisodeReplay, EpisodesReplayed, RecordedEpisode, ReplayEpisodes } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { CheckNews } from "../host/game-checker.ts";
import { PageFrames } from "../page/page-frames.ts";
import { Yielder } from "../rollout/yielding.ts";
import { EpisodeScript } from "./episode-script.ts";
import { replayEpisode } from "./replay-episode.ts";

/** @param post is told what begins, and each episode's replay as soon as it is there: the next one may never come back. */
export async function replayEpisodes(
  order: ReplayEpisodes,
  game: GameDefinition,
  post: (news: CheckNews) => void,
): Promise<EpisodesReplayed> {
  const frames = game.page === undefined ? null : new PageFrames(game, { maxCopies: 1, isFresh: true });
  const definition = frames?.definition ?? game;
  const yielder = new Yielder();
  const options = {
    definition,
    preloaded: frames,
    yieldTurn: () => yielder.yield(),
    now: () => performance.now(),
  };
  const replays: EpisodeReplay[] = [];
  let problem: string | null = null;
  try {
    for (const [index, episode] of order.episodes.entries()) {
      post({
        type: "phase",
        phase: order.episodes.length === 1 ? "the replay" : `the replay of episode ${index}`,
      });
      const replay = await replayEpisode(await EpisodeScript.of(definition, episode), options);
      replays.push(replay);
      post({ type: "replayed", replay });
    }
  } catch (error) {
    problem = problemOf(error, order.episodes[replays.length]);
  } finally {
    frames?.close();
  }
  return { type: "episodes_replayed", replay_id: order.replay_id, replays, problem };
}

function problemOf(error: unknown, { id }: RecordedEpisode): string {
  const text = error instanceof Error ? error.message : String(error);
  return id === "" ? text : `${id}: ${text}`;
}
