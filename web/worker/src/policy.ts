/** What the rollout loop needs of a policy, and the uniformly random one. */

import type { ObservationBatch } from "./observation-batch.ts";

/** One version of a policy. `run` fills `logits` and `values`; both hold until the next `run`. */
export interface Policy {
  readonly policyId: string;
  readonly policyVersion: number;
  /** At least [rows, n] float32, row-major. */
  readonly logits: Float32Array;
  /** At least [rows] float32: V(observation). */
  readonly values: Float32Array;
  /** Decides on the first `rows` rows of `batch`. */
  run(batch: ObservationBatch, rows: number): Promise<void>;
}

/** Every action equally likely, every value 0: the controller of the uncounted warm-up (rule P7). */
export class RandomPolicy implements Policy {
  readonly policyId: string;
  readonly policyVersion: number;
  readonly logits: Float32Array;
  readonly values: Float32Array;
  readonly #done = Promise.resolve();

  constructor(policyId: string, policyVersion: number, rows: number, numActions: number) {
    this.policyId = policyId;
    this.policyVersion = policyVersion;
    this.logits = new Float32Array(rows * numActions);
    this.values = new Float32Array(rows);
  }

  run(): Promise<void> {
    return this.#done;
  }
}
