/** A recorded episode played again on a fresh copy of its game: start, steps, failure, and where it differs (rule C5). */

import type { EpisodeDifference, EpisodeError } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { episodeError } from "../game/failures.ts";
import type { PreloadedGames } from "../page/preloaded-games.ts";
import type { EpisodeScript } from "./episode-script.ts";

export interface EpisodePlayOptions {
  definition: GameDefinition;
  /** Frames of a game that lives in a page: each episode needs one of its own. Default: null. */
  preloaded?: PreloadedGames | null;
  /** As in `InstanceOptions`. */
  callsPerStep?: number;
}

/** Owned by one player, headless or drawn. What is thrown besides a game's own error is thrown on. */
export class EpisodePlay {
  readonly instance: Instance;
  /** With which the game failed; null: it has not. */
  error: EpisodeError | null = null;
  readonly #script: EpisodeScript;
  readonly #preloaded: PreloadedGames | null;
  readonly #callsPerStep: number;
  readonly #numCalls: number;
  /** Calls of the game's step that went well. */
  #calls = 0;
  #action: Action | readonly Action[] = 0;

  /** A play that has not begun. Raises ConfigurationError, GameError. */
  constructor(script: EpisodeScript, { definition, preloaded = null, callsPerStep = 1 }: EpisodePlayOptions) {
    this.#script = script;
    this.#preloaded = preloaded;
    this.#callsPerStep = callsPerStep;
    this.#numCalls = script.numSteps * callsPerStep;
    this.instance = createInstance(definition, { callsPerStep });
  }

  get calls(): number {
    return this.#calls;
  }

  /** Whether the game cannot continue: its episode is over, or it failed. */
  get isOver(): boolean {
    return this.error !== null || this.instance.episodeOver;
  }

  get isAtEnd(): boolean {
    return this.isOver || this.#calls === this.#numCalls;
  }

  /** Steps that were begun; one that failed counts, unless it was the start. */
  get numSteps(): number {
    const failed = this.error !== null && this.error.tick > 0 ? 1 : 0;
    return Math.ceil((this.#calls + failed) / this.#callsPerStep);
  }

  /** Starts the episode, once. */
  async begin(): Promise<void> {
    const { instance } = this;
    const { seed, instance: stream, episode, parameters } = this.#script.episode;
    instance.setStream(seed.low, seed.high, stream);
    await this.#preloaded?.preload();
    try {
      await instance.begin(episode, parameters);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Calls the game's step with the recorded action; a promise where that has to be waited for. */
  advance(): Promise<void> | null {
    const { instance } = this;
    if (this.#calls % this.#callsPerStep === 0)
      this.#action = this.#script.action(this.#calls / this.#callsPerStep, instance);
    try {
      const taken = instance.take(this.#action);
      if (taken !== null) return taken.then(this.#stepped, this.#fail);
      this.#stepped();
    } catch (thrown) {
      this.#fail(thrown);
    }
    return null;
  }

  /** Between two steps, or at the end: how it differs from the record; null where it does not, or that is not known there. */
  difference(): EpisodeDifference | null {
    const { instance, error } = this;
    const steps = this.#calls / this.#callsPerStep;
    if (!this.isAtEnd) return this.#script.difference(steps, instance);
    const { episodeOver, endReason, episodeReturns } = instance;
    // A step that failed was not taken.
    const episodeSteps = error === null ? Math.ceil(steps) : Math.floor(steps);
    return this.#script.endDifference({ episodeSteps, episodeOver, endReason, episodeReturns }, error);
  }

  readonly #stepped = (): void => {
    this.#calls++;
  };

  readonly #fail = (thrown: unknown): void => {
    this.error = episodeError(thrown, this.instance);
  };
}
