/** One choice among n, or several independent choices at once, from logits. */

import type { ActionSampler } from "./action-sampler.ts";

/** Samples `discrete` and `multi_discrete` actions; see `ActionSampler`. */
export class CategoricalSampler implements ActionSampler {
  readonly outputNames = ["logits"];
  readonly outputSizes: readonly number[];
  readonly outputSize: number;
  readonly numComponents: number;
  readonly numDraws: number;
  readonly shape: readonly number[];
  readonly uniforms: Float64Array;
  readonly actions: Int32Array<ArrayBuffer>;
  readonly logProbs: Float64Array;
  readonly #nvec: Int32Array;
  /** Weights of one component: exp(logit - highest), 0 where forbidden. */
  readonly #weights: Float64Array;
  /** [1, outputSize] of zeros: every allowed choice equally likely. */
  readonly #even: readonly Float32Array[];
  /** A mask that allows everything, for games without one. */
  readonly #open: Uint8Array;
  /** Per slot, what its game is given; null when an action is a single number. */
  readonly #views: readonly Int32Array[] | null;

  /** @param isScalar whether an action is one number instead of an array of one. */
  constructor(nvec: readonly number[], capacity: number, isScalar: boolean) {
    this.#nvec = Int32Array.from(nvec);
    this.outputSize = nvec.reduce((sum, n) => sum + n, 0);
    this.outputSizes = [this.outputSize];
    this.numComponents = nvec.length;
    this.numDraws = nvec.length;
    this.shape = isScalar ? [] : [nvec.length];
    this.uniforms = new Float64Array(capacity * nvec.length);
    this.actions = new Int32Array(capacity * nvec.length);
    this.logProbs = new Float64Array(capacity);
    this.#weights = new Float64Array(Math.max(...nvec));
    this.#even = [new Float32Array(this.outputSize)];
    this.#open = new Uint8Array(this.outputSize).fill(1);
    const viewOf = (slot: number) => this.actions.subarray(slot * nvec.length, (slot + 1) * nvec.length);
    this.#views = isScalar ? null : Array.from({ length: capacity }, (_, slot) => viewOf(slot));
  }

  sample(outputs: readonly Float32Array[], row: number, masks: Uint8Array, slot: number): void {
    this.#fill(outputs[0], row, masks, slot, true);
  }

  choose(outputs: readonly Float32Array[], row: number, masks: Uint8Array, slot: number): void {
    this.#fill(outputs[0], row, masks, slot, false);
  }

  sampleUniform(masks: Uint8Array, slot: number): void {
    this.#fill(this.#even[0], 0, masks, slot, true);
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

  gameAction(slot: number): number | Int32Array {
    return this.#views === null ? this.actions[slot] : this.#views[slot];
  }

  // Not shared with #fill, whose loop is the one that each step of training pays for.
  probabilities(
    [logits]: readonly Float32Array[],
    row: number,
    masks: Uint8Array,
    slot: number,
  ): Float64Array {
    const size = this.outputSize;
    const given = logits.subarray(row * size, (row + 1) * size);
    const allowed = masks.length === 0 ? this.#open : masks.subarray(slot * size, (slot + 1) * size);
    const masked = Array.from(given, (logit, a) => (allowed[a] === 1 ? logit : Number.NEGATIVE_INFINITY));
    const result: number[] = [];
    for (const n of this.#nvec) {
      const part = masked.slice(result.length, result.length + n);
      const highest = Math.max(...part);
      const weights = part.map((logit) => Math.exp(logit - highest));
      const sum = weights.reduce((total, weight) => total + weight, 0);
      result.push(...weights.map((weight) => weight / sum));
    }
    return Float64Array.from(result);
  }

  #fill(logits: Float32Array, row: number, masks: Uint8Array, slot: number, isDrawn: boolean): void {
    const weights = this.#weights;
    const nvec = this.#nvec;
    let offset = row * this.outputSize;
    const isOpen = masks.length === 0;
    const allowed = isOpen ? this.#open : masks;
    let maskAt = isOpen ? 0 : slot * this.outputSize;
    let at = slot * nvec.length;
    let logProb = 0;
    for (let c = 0; c < nvec.length; c++, at++) {
      const n = nvec[c];
      let highest = Number.NEGATIVE_INFINITY;
      let likeliest = 0;
      for (let a = 0; a < n; a++) {
        if (allowed[maskAt + a] === 1 && logits[offset + a] > highest) {
          highest = logits[offset + a];
          likeliest = a;
        }
      }
      let sum = 0;
      for (let a = 0; a < n; a++) {
        // exp(0) is 1: of two choices only one costs an exponential.
        const weight =
          allowed[maskAt + a] !== 1 ? 0 : a === likeliest ? 1 : Math.exp(logits[offset + a] - highest);
        weights[a] = weight;
        sum += weight;
      }
      let action = likeliest;
      if (isDrawn) {
        const threshold = this.uniforms[at] * sum;
        let cumulative = 0;
        // Rounding can leave the last sum at the threshold: then the last action that is possible at all is taken.
        for (let a = 0; a < n; a++) {
          if (weights[a] === 0) continue;
          action = a;
          cumulative += weights[a];
          if (cumulative > threshold) break;
        }
      }
      this.actions[at] = action;
      logProb += logits[offset + action] - highest - Math.log(sum);
      offset += n;
      maskAt += n;
    }
    this.logProbs[slot] = logProb;
  }
}
