/** Continuous actions from a diagonal Gaussian in the unit space of a box (rule P6). */

import { type BoxSpace, boxSize } from "attract/spaces";
import type { ActionSampler } from "./action-sampler.ts";
import { UnitBox } from "./unit-box.ts";

const HALF_LOG_2_PI = 0.5 * Math.log(2 * Math.PI);

/** Samples `box` actions, which take no mask; see `ActionSampler`. Component c takes the uniforms 2c and 2c + 1. */
export class GaussianSampler implements ActionSampler {
  readonly outputNames = ["mean", "log_std"];
  readonly outputSizes: readonly number[];
  readonly numComponents: number;
  readonly numDraws: number;
  readonly shape: readonly number[];
  readonly uniforms: Float64Array;
  readonly actions: Float32Array<ArrayBuffer>;
  readonly logProbs: Float64Array;
  /** [slots, components], in the game's units. */
  readonly #scaled: Float32Array;
  readonly #views: readonly Float32Array[];
  readonly #unitBox: UnitBox;
  readonly #first: number;

  /** @param firstOutput where its outputs begin among the policy's. */
  constructor(space: BoxSpace, capacity: number, firstOutput = 0) {
    const size = boxSize(space);
    this.outputSizes = [size, size];
    this.#first = firstOutput;
    this.numComponents = size;
    this.numDraws = 2 * size;
    this.shape = [size];
    this.uniforms = new Float64Array(capacity * 2 * size);
    this.actions = new Float32Array(capacity * size);
    this.logProbs = new Float64Array(capacity);
    this.#scaled = new Float32Array(capacity * size);
    this.#views = Array.from({ length: capacity }, (_, slot) =>
      this.#scaled.subarray(slot * size, (slot + 1) * size),
    );
    this.#unitBox = new UnitBox(space, size);
  }

  sample(outputs: readonly Float32Array[], row: number, _masks: Uint8Array, slot: number): void {
    const n = this.numComponents;
    for (let c = 0; c < n; c++) {
      const draw = 2 * (slot * n + c);
      // Box-Muller; 1 - u is never 0.
      const radius = Math.sqrt(-2 * Math.log(1 - this.uniforms[draw]));
      const z = radius * Math.cos(2 * Math.PI * this.uniforms[draw + 1]);
      this.actions[slot * n + c] =
        outputs[this.#first][row * n + c] + Math.exp(outputs[this.#first + 1][row * n + c]) * z;
    }
    this.#finish(outputs, row, slot);
  }

  choose(outputs: readonly Float32Array[], row: number, _masks: Uint8Array, slot: number): void {
    const n = this.numComponents;
    for (let c = 0; c < n; c++) this.actions[slot * n + c] = outputs[this.#first][row * n + c];
    this.#finish(outputs, row, slot);
  }

  /** Uniform over [-1, 1], whose density is 1/2 per component. */
  sampleUniform(_masks: Uint8Array, slot: number): void {
    const n = this.numComponents;
    for (let c = 0; c < n; c++) this.actions[slot * n + c] = 2 * this.uniforms[2 * (slot * n + c)] - 1;
    this.logProbs[slot] = -n * Math.LN2;
    this.#unitBox.scale(this.actions, this.#scaled, slot);
  }

  probabilities(): Float64Array {
    return new Float64Array(0);
  }

  give(actions: ArrayLike<number>, row: number, slot: number): void {
    const n = this.numComponents;
    for (let c = 0; c < n; c++) this.actions[slot * n + c] = actions[row * n + c];
    this.logProbs[slot] = 0;
    this.#unitBox.scale(this.actions, this.#scaled, slot);
  }

  /** The middle of the box. */
  rest(slot: number): void {
    this.actions.fill(0, slot * this.numComponents, (slot + 1) * this.numComponents);
    this.logProbs[slot] = 0;
    this.#unitBox.scale(this.actions, this.#scaled, slot);
  }

  gameAction(slot: number): Float32Array {
    return this.#views[slot];
  }

  /** The density is that of the number which travels, so it is computed after rounding. */
  #finish(outputs: readonly Float32Array[], row: number, slot: number): void {
    const n = this.numComponents;
    let logProb = 0;
    for (let c = 0; c < n; c++) {
      const logStd = outputs[this.#first + 1][row * n + c];
      const z = (this.actions[slot * n + c] - outputs[this.#first][row * n + c]) / Math.exp(logStd);
      logProb += -0.5 * z * z - logStd - HALF_LOG_2_PI;
    }
    this.logProbs[slot] = logProb;
    this.#unitBox.scale(this.actions, this.#scaled, slot);
  }
}
