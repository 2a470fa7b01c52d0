/** Discrete actions from logits: sampled with the seeded stream (rule C5) or the most probable one. */

/**
 * Works in float64 on float32 logits; owned by one loop, allocates nothing after creation. Numbers go in and out through
 * typed arrays: a float64 that crosses a call which the engine does not inline is a new object each time.
 */
export class DiscreteSampler {
  readonly numActions: number;
  /** [capacity], in [0, 1): what `sampleRows` draws with; the caller fills it. */
  readonly uniforms: Float64Array;
  /** [capacity], of the last call. */
  readonly actions: Int32Array;
  /** [capacity], natural log-probability of each action of the last call. */
  readonly logProbs: Float64Array;
  readonly #weights: Float64Array;

  constructor(numActions: number, capacity = 1) {
    this.numActions = numActions;
    this.uniforms = new Float64Array(capacity);
    this.actions = new Int32Array(capacity);
    this.logProbs = new Float64Array(capacity);
    this.#weights = new Float64Array(numActions);
  }

  /** Of the single action chosen last, by `sample` or `argmax`. */
  get logProb(): number {
    return this.logProbs[0];
  }

  /** For each of the first `rows` rows of [*, n] `logits`: the smallest action whose cumulative softmax exceeds its uniform. */
  sampleRows(logits: Float32Array, rows: number): void {
    for (let row = 0; row < rows; row++) this.#sampleRow(logits, row, row);
  }

  /** For each of the first `rows` rows: the most probable action, the smallest of equals. */
  argmaxRows(logits: Float32Array, rows: number): void {
    for (let row = 0; row < rows; row++) this.#argmaxRow(logits, row, row);
  }

  /** `sampleRows` for row `row` alone. */
  sample(logits: Float32Array, row: number, uniform: number): number {
    this.uniforms[0] = uniform;
    this.#sampleRow(logits, row, 0);
    return this.actions[0];
  }

  /** `argmaxRows` for row `row` alone. */
  argmax(logits: Float32Array, row: number): number {
    this.#argmaxRow(logits, row, 0);
    return this.actions[0];
  }

  #sampleRow(logits: Float32Array, row: number, at: number): void {
    const n = this.numActions;
    const weights = this.#weights;
    const offset = row * n;
    let highest = logits[offset];
    for (let a = 1; a < n; a++) {
      if (logits[offset + a] > highest) highest = logits[offset + a];
    }
    let sum = 0;
    for (let a = 0; a < n; a++) {
      weights[a] = Math.exp(logits[offset + a] - highest);
      sum += weights[a];
    }
    const threshold = this.uniforms[at] * sum;
    let cumulative = 0;
    // Rounding can leave the last sum at the threshold: then the last action that is possible at all is taken.
    let action = n - 1;
    for (let a = 0; a < n; a++) {
      if (weights[a] === 0) continue;
      action = a;
      cumulative += weights[a];
      if (cumulative > threshold) break;
    }
    this.actions[at] = action;
    this.logProbs[at] = logits[offset + action] - highest - Math.log(sum);
  }

  #argmaxRow(logits: Float32Array, row: number, at: number): void {
    const n = this.numActions;
    const offset = row * n;
    let action = 0;
    for (let a = 1; a < n; a++) {
      if (logits[offset + a] > logits[offset + action]) action = a;
    }
    let sum = 0;
    for (let a = 0; a < n; a++) sum += Math.exp(logits[offset + a] - logits[offset + action]);
    this.actions[at] = action;
    this.logProbs[at] = -Math.log(sum);
  }
}
