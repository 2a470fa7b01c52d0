/** Independent switches from the logits of their being on. */

import type { ActionSampler } from "./action-sampler.ts";

/** Samples `multi_binary` actions, which take no mask; see `ActionSampler`. */
export class BinarySampler implements ActionSampler {
  readonly outputNames = ["logits"];
  readonly outputSizes: readonly number[];
  readonly numComponents: number;
  readonly numDraws: number;
  readonly shape: readonly number[];
  readonly uniforms: Float64Array;
  readonly actions: Int32Array<ArrayBuffer>;
  readonly logProbs: Float64Array;
  readonly #even: Float32Array;
  readonly #views: readonly Int32Array[];

  constructor(n: number, capacity: number) {
    this.outputSizes = [n];
    this.numComponents = n;
    this.numDraws = n;
    this.shape = [n];
    this.uniforms = new Float64Array(capacity * n);
    this.actions = new Int32Array(capacity * n);
    this.logProbs = new Float64Array(capacity);
    this.#even = new Float32Array(n);
    this.#views = Array.from({ length: capacity }, (_, slot) =>
      this.actions.subarray(slot * n, (slot + 1) * n),
    );
  }

  sample(outputs: readonly Float32Array[], row: number, _masks: Uint8Array, slot: number): void {
    this.#fill(outputs[0], row, slot, true);
  }

  choose(outputs: readonly Float32Array[], row: number, _masks: Uint8Array, slot: number): void {
    this.#fill(outputs[0], row, slot, false);
  }

  sampleUniform(_masks: Uint8Array, slot: number): void {
    this.#fill(this.#even, 0, slot, true);
  }

  give(actions: ArrayLike<number>, row: number, slot: number): void {
    const n = this.numComponents;
    for (let c = 0; c < n; c++) this.actions[slot * n + c] = actions[row * n + c];
    this.logProbs[slot] = 0;
  }

  rest(slot: number): void {
    this.actions.fill(0, slot * this.numComponents, (slot + 1) * this.numComponents);
    this.logProbs[slot] = 0;
  }

  gameAction(slot: number): Int32Array {
    return this.#views[slot];
  }

  probabilities([logits]: readonly Float32Array[], row: number): Float64Array {
    const n = this.numComponents;
    return Float64Array.from(logits.subarray(row * n, (row + 1) * n), (logit) => 1 / (1 + Math.exp(-logit)));
  }

  #fill(logits: Float32Array, row: number, slot: number, isDrawn: boolean): void {
    const n = this.numComponents;
    let at = slot * n;
    let logProb = 0;
    for (let c = 0; c < n; c++, at++) {
      const logit = logits[row * n + c];
      const isOn = isDrawn ? this.uniforms[at] < 1 / (1 + Math.exp(-logit)) : logit > 0;
      this.actions[at] = isOn ? 1 : 0;
      // ln sigmoid(x) = min(x, 0) - ln(1 + e^-|x|), which neither overflows nor cancels.
      const x = isOn ? logit : -logit;
      logProb += Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)));
    }
    this.logProbs[slot] = logProb;
  }
}
