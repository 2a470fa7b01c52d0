/** What a page and the stage of one game in its sandbox tell each other: pictures come out, keys and policies go in. */

import type { EpisodeDifference, GameDescription, RecordedEpisode, RunView } from "@attract/schema";
import type { EndReason } from "attract/instance";
import type { PageReset } from "attract/page-adapter";
import type { PointerPlaces } from "./pointer-keys.ts";

/**
 * Who plays: chance, a person's keys, a policy, which is sent, or the players of a recorded episode. Beside a person a policy plays
 * the other agents once one is sent, before that chance does.
 */
export type StagePlayer = "chance" | "keys" | "policy" | RecordedEpisode;

export type PageToStage =
  /** First, and once. Nothing moves before `start`. `seat`: the agent that a person plays. */
  | { type: "open"; player: StagePlayer; seed: number; parameters: RunView["parameters"]; seat: number }
  /** The page draws next: how large, in CSS pixels, and how many of the screen's go on one. `now` in milliseconds. */
  | { type: "frame"; now: number; width: number; height: number; pixelRatio: number }
  /** A recorded episode: show it at this second of game time. */
  | { type: "go"; seconds: number }
  | { type: "start" }
  | { type: "stop" }
  /** Leave the episode unfinished and begin the next one. */
  | { type: "again" }
  | { type: "speed"; speed: number }
  /** How the next episodes' parameters are drawn. */
  | { type: "parameters"; parameters: RunView["parameters"] }
  | { type: "press" | "release"; code: string }
  | { type: "release_all" }
  /** The person's pointer is at this point of the game's page, in CSS pixels. */
  | { type: "aim"; x: number; y: number }
  /** Where a policy plays: whether a person's keys do now, in the midst of an episode. */
  | { type: "hands"; arePlaying: boolean }
  /**
   * Play with these from now on; beside a recorded episode: say what they would choose. Until it is given `engine`, the inference
   * engine's WebAssembly, the small player plays where it can. @see WatchedPolicy for `seats`
   */
  | { type: "policy"; version: number; models: Uint8Array[]; seats: readonly number[]; engine: Blob | null };

/** The decision of one step. */
export interface Decision {
  /** In the game's units. */
  readonly action: number | readonly number[];
  /** See `ActionSampler.probabilities`; empty also where a person chose. */
  readonly probabilities: Float64Array;
}

export type StageToPage =
  /** `reset`: how a game that lives in a page begins its episodes; null: it lives in none. */
  | {
      type: "opened";
      description: GameDescription;
      reset: PageReset | null;
      /** What a person can point at there; null: nothing. */
      pointers: PointerPlaces | null;
    }
  /** Where a policy or a recorded episode plays: what the first agent does in the step that begins. */
  | { type: "decided"; decision: Decision }
  /** A recorded episode: where its play first differs from the record. It goes on. */
  | { type: "differs"; difference: EpisodeDifference }
  /** A recorded episode: it stands at the second of that `go`, or at its end. */
  | { type: "arrived"; seconds: number }
  /** Answers each `frame`; null: nothing has changed, or the game is seen in its page. */
  | { type: "picture"; bitmap: ImageBitmap | null; score: number; steps: number }
  /** `played`: a person's play in replayable form; null where no person played. */
  | {
      type: "episode_end";
      reason: EndReason | null;
      episodeReturn: number;
      played: RecordedEpisode | null;
    }
  /** `needsEngine`: the small player cannot play these; nothing has changed. */
  | { type: "policy_ready"; version: number; error: string | null; needsEngine: boolean }
  /** `isOver`: nothing comes any more. */
  | { type: "failed"; text: string; isOver: boolean };
