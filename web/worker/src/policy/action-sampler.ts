/** What draws the actions of many slots: one implementation for each kind of action space. */

import type { Action } from "attract/contract";

/**
 * Works in float64 on float32 outputs; owned by one loop, allocates nothing after creation. Numbers go in and out through
 * typed arrays: a float64 that crosses a call which the engine does not inline is a new object each time.
 *
 * The arrays have one row per slot; `row` below is a row of the policy's outputs, which another policy's slots may share.
 */
export interface ActionSampler {
  /** Names in the ONNX graph, in the order in which `outputs` holds them. */
  readonly outputNames: readonly string[];
  /** Numbers per row of each of them. */
  readonly outputSizes: readonly number[];
  /** Numbers that make one action. */
  readonly numComponents: number;
  /** Uniforms that one action takes. */
  readonly numDraws: number;
  /** Shape of one action on the wire: empty for a single number. */
  readonly shape: readonly number[];
  /** [slots, numDraws], in [0, 1): what `sample` draws with; the caller fills it. */
  readonly uniforms: Float64Array;
  /** [slots, numComponents], as they travel: box actions in unit space, unclipped (rule P6). */
  readonly actions: Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  /** [slots], natural logarithm of each action's joint probability or density, summed over components in order. */
  readonly logProbs: Float64Array;
  /** Draws slot `slot`'s action. `masks` is [slots, mask size], 1 = allowed, or empty for none. */
  sample(outputs: readonly Float32Array[], row: number, masks: Uint8Array, slot: number): void;
  /** Takes the most probable action, the smallest of equals. */
  choose(outputs: readonly Float32Array[], row: number, masks: Uint8Array, slot: number): void;
  /** Draws uniformly over what is allowed. */
  sampleUniform(masks: Uint8Array, slot: number): void;
  /** Takes slot `slot`'s action as it travelled: row `row` of `actions`, [rows, numComponents]; its log-probability is not known: 0. */
  give(actions: ArrayLike<number>, row: number, slot: number): void;
  /** No action is drawn: zeros, with log-probability 0. */
  rest(slot: number): void;
  /**
   * What the policy makes of each choice, or of each switch being on, after masks: float64. Empty for densities.
   * For showing; allocates.
   */
  probabilities(outputs: readonly Float32Array[], row: number, masks: Uint8Array, slot: number): Float64Array;
  /** Slot `slot`'s action as its game takes it: clipped, and in the game's units. Holds until the slot's next action. */
  gameAction(slot: number): Action;
}
