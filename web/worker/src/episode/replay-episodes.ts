/** Does what a host is asked to play again, each episode on a fresh copy of the game. */

import type {
  EpisodeReplay,
  EpisodesReplayed,
  PlayAgain,
  PlayedAgain,
  RecordedEpisode,
  ReplayEpisodes,
} from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { type CheckNews, failedPlay } from "../host/game-checker.ts";
import { PageFrames } from "../page/page-frames.ts";
import { replay } from "../rollout/replay.ts";
import { Yielder } from "../rollout/yielding.ts";
import { EpisodeScript } from "./episode-script.ts";
import { replayEpisode } from "./replay-episode.ts";

/** Does a `replay_episodes` order. @param post is told what begins, and each episode's replay as soon as it is there: the next one may never come back. */
export async function replayEpisodes(
  order: ReplayEpisodes,
  game: GameDefinition,
  post: (news: CheckNews) => void,
): Promise<EpisodesReplayed> {
  const { options, close } = freshCopies(game);
  const replays: EpisodeReplay[] = [];
  let problem: string | null = null;
  try {
    for (const [index, episode] of order.episodes.entries()) {
      post({
        type: "phase",
        phase: order.episodes.length === 1 ? "the replay" : `the replay of episode ${index}`,
      });
      const script = await EpisodeScript.of(options.definition, episode);
      const replay = await replayEpisode(script, options);
      replays.push(replay);
      post({ type: "replayed", replay });
    }
  } catch (error) {
    problem = problemOf(error, order.episodes[replays.length]);
  } finally {
    close();
  }
  return { type: "episodes_replayed", replay_id: order.replay_id, replays, problem };
}

/** Does a `play_again` order, by the loop of training: the blocks have all that is seen. */
export async function playAgain(
  order: PlayAgain,
  game: GameDefinition,
  post: (news: CheckNews) => void,
): Promise<PlayedAgain> {
  const { options, close } = freshCopies(game);
  const blocks: Uint8Array<ArrayBuffer>[] = [];
  try {
    await replay(order.lease, {
      ...options,
      seat: order.seat,
      emit: ({ bytes }) => blocks.push(bytes),
      isVoid: () => false,
      progressed: (steps) => post({ type: "phase", phase: `the replay, after ${steps} steps` }),
    });
  } catch (error) {
    return failedPlay(order, error instanceof Error ? error.message : String(error));
  } finally {
    close();
  }
  return { type: "played_again", replay_id: order.replay_id, blocks, problem: null };
}

function freshCopies(game: GameDefinition) {
  const frames = game.page === undefined ? null : new PageFrames(game, { maxCopies: 1, isFresh: true });
  const yielder = new Yielder();
  const options = {
    definition: frames?.definition ?? game,
    preloaded: frames,
    yieldTurn: () => yielder.yield(),
    now: () => performance.now(),
  };
  return { options, close: () => frames?.close() };
}

function problemOf(error: unknown, { id }: RecordedEpisode): string {
  const text = error instanceof Error ? error.message : String(error);
  return id === "" ? text : `${id}: ${text}`;
}
