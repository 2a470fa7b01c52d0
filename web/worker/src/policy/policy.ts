/** What rollout loop and evaluation need of a policy, and the uniformly random one. */

import type { ObservationBatch } from "../game/observation-batch.ts";

/** One version of a policy. `run` fills `outputs`, `values` and `states`; they hold until the next `run`. */
export interface Policy {
  readonly policyId: string;
  readonly policyVersion: number;
  /** A script that draws uniformly over what is allowed; its outputs are not looked at. */
  readonly isRandom: boolean;
  /** At least [rows, size] float32 each, row-major, as the action sampler's `outputNames` order them. */
  readonly outputs: readonly Float32Array[];
  /** At least [rows] float32: V(observation). */
  readonly values: Float32Array;
  /** At least [rows, stateSize] float32: the recurrent state after these observations. Empty without one. */
  readonly states: Float32Array;
  /** Of a script: the action of one slot as actions travel, with a uniform of its own stream; its outputs are not looked at. */
  decide?(batch: ObservationBatch, slot: number, uniform: number): ArrayLike<number>;
  /** Of a program outside: has it decide for these slots of the games' batch, before `decide` is called for each. */
  ask?(batch: ObservationBatch, slots: readonly number[]): Promise<void>;
  /** Decides on the first `rows` rows of `batch`, whose states it does not change. */
  run(batch: ObservationBatch, rows: number): Promise<void>;
}

/** A policy that is a network. */
export interface ModelPolicy extends Policy {
  /** Numbers of the recurrent state that the model takes and gives; 0: feed-forward. */
  readonly stateSize: number;
  /** Frees its memory. */
  release(): Promise<void>;
}

/** A player that is no network: nothing of it is trained on, so it has no probabilities, every value is 0, and states stay 0. */
export abstract class UntrainedPolicy implements ModelPolicy {
  readonly isRandom: boolean = false;
  readonly stateSize = 0;
  readonly outputs: readonly Float32Array[] = [];
  readonly values: Float32Array;
  readonly states: Float32Array;
  readonly #done = Promise.resolve();

  /** @param rows slots. @param stateSize numbers of the recurrent state that others have in the same games. */
  constructor(
    readonly policyId: string,
    readonly policyVersion: number,
    rows: number,
    stateSize = 0,
  ) {
    this.values = new Float32Array(rows);
    this.states = new Float32Array(rows * stateSize);
  }

  run(): Promise<void> {
    return this.#done;
  }

  release(): Promise<void> {
    return this.#done;
  }
}

/** Every allowed action equally likely: the controller of the uncounted warm-up (rule P7). */
export class RandomPolicy extends UntrainedPolicy {
  override readonly isRandom = true;
}
