/** Discrete actions from logits: sampled with the seeded stream (rule C5) or the most probable one. */

/** Works in float64 on float32 logits; owned by one loop, allocates nothing after creation. */
export class DiscreteSampler {
  readonly numActions: number;
  /** Natural log-probability of the action chosen last, float64. */
  logProb = 0;
  readonly #weights: Float64Array;

  constructor(numActions: number) {
    this.numActions = numActions;
    this.#weights = new Float64Array(numActions);
  }

  /** The smallest action whose cumulative softmax exceeds `uniform`, from row `row` of [rows, n] `logits`. Sets `logProb`. */
  sample(logits: Float32Array, row: number, uniform: number): number {
    const n = this.numActions;
    const weights = this.#weights;
    const offset = row * n;
    const highest = this.#highest(logits, offset);
    let sum = 0;
    for (let a = 0; a < n; a++) {
      const weight = Math.exp(logits[offset + a] - highest);
      weights[a] = weight;
      sum += weight;
    }
    const threshold = uniform * sum;
    let cumulative = 0;
    let action = -1;
    // Rounding can leave the last sum at the threshold: then the last action that is possible at all is taken.
    let possible = n - 1;
    for (let a = 0; a < n; a++) {
      if (weights[a] === 0) continue;
      possible = a;
      cumulative += weights[a];
      if (cumulative > threshold) {
        action = a;
        break;
      }
    }
    if (action < 0) action = possible;
    this.logProb = logits[offset + action] - highest - Math.log(sum);
    return action;
  }

  /** The most probable action, the smallest of equals. Sets `logProb`. */
  argmax(logits: Float32Array, row: number): number {
    const n = this.numActions;
    const offset = row * n;
    const highest = this.#highest(logits, offset);
    let sum = 0;
    let action = -1;
    for (let a = 0; a < n; a++) {
      const logit = logits[offset + a];
      if (action < 0 && logit === highest) action = a;
      sum += Math.exp(logit - highest);
    }
    this.logProb = -Math.log(sum);
    return action;
  }

  #highest(logits: Float32Array, offset: number): number {
    let highest = logits[offset];
    for (let a = 1; a < this.numActions; a++) {
      const logit = logits[offset + a];
      if (logit > highest) highest = logit;
    }
    return highest;
  }
}
