/** What a rollout loop is given. */

import type { RecordedEpisode, ReplayOrder, WelcomeWorker } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { FailureReport } from "../game/failures.ts";
import type { PreloadedGames } from "../page/preloaded-games.ts";
import type { BlockFrame } from "./block-writer.ts";
import type { DeflateChoice } from "./deflate-choice.ts";

export interface LoopOptions {
  definition: GameDefinition;
  /** Asked before a copy is made or begins; default: it always can be. */
  preloaded?: PreloadedGames | null;
  /** Without a description nothing is known to be a stack of pictures. */
  seat: Pick<WelcomeWorker, "run_id" | "instance_ids" | "horizon" | "max_frame_bytes" | "state_size"> &
    Partial<Pick<WelcomeWorker, "description">>;
  /** Gives the event loop its turn and waits for other users of the inference engine; asked every 5 ms. */
  yieldTurn(): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Takes a finished block. */
  emit(frame: BlockFrame): void;
  /** Takes the report of a game that broke; the loop goes on with the next episode. */
  failed(report: FailureReport): void;
  /** Takes the episodes that `lease.record` asks for, at the end of the lease. Default: nothing is recorded. */
  recorded?(episode: RecordedEpisode): void;
  /** Called before each game's turn with its instance id; null: turns are not announced, which costs nothing. */
  announce: ((instanceId: number) => void) | null;
  /** A promise while too much is waiting to be sent, else null; asked after each segment. */
  gate(): Promise<void> | null;
  /** Decides whether pictures are deflated, from measurements that it gets; default: they are not. */
  deflation?: DeflateChoice | null;
  /** Actions to replay, as the one segment of the seat's one instance (rule C10); default: none. */
  script?: Script;
}

/** Actions that were taken before. */
export interface Script {
  order: ReplayOrder;
  /** [num_before + horizon, agents, numComponents] of `order`. */
  actions: ArrayLike<number>;
  /** What the block is numbered as, in place of 0. */
  segmentIndex: number;
  firstBlock: number;
}
