/** The observations before a reset, of one segment's truncated steps, and their values (rules E2, E8). */

import type { BoxView } from "attract/contract";
import { allocateEntry, type ObservationEntry } from "attract/observation";
import type { ObservationSpace } from "attract/spaces";
import { copyRow, ObservationBatch } from "../game/observation-batch.ts";
import type { Policy } from "../policy/policy.ts";

/** Most rows of one extra inference. */
const MAX_BUCKET = 256;

/** Owned by one recorder. Grows by doubling, so that it soon allocates no more. */
export class FinalObservationStore {
  readonly entries: readonly ObservationEntry[];
  count = 0;
  /** [count], step in the segment. */
  steps: Int32Array<ArrayBuffer>;
  /** [count], column of the batch. */
  columns: Int32Array<ArrayBuffer>;
  /** [count], V(final observation); filled by `evaluate`. */
  values: Float32Array<ArrayBuffer>;
  /** Per entry, [count, size]. */
  arrays: BoxView[];
  readonly stateSize: number;
  /** [count, stateSize], the recurrent state after the step: the value is read with it (rule E4). */
  states: Float32Array<ArrayBuffer>;
  readonly #staging: ObservationBatch;
  /** [bucket], which final observation each row of the staging batch is. */
  readonly #staged: Int32Array;

  constructor(space: ObservationSpace, numSlots: number, stateSize: number) {
    let bucket = 1;
    while (bucket < numSlots && bucket < MAX_BUCKET) bucket *= 2;
    this.#staging = new ObservationBatch(space, bucket, { stateSize });
    this.#staged = new Int32Array(bucket);
    this.entries = this.#staging.entries;
    this.stateSize = stateSize;
    this.steps = new Int32Array(bucket);
    this.columns = new Int32Array(bucket);
    this.values = new Float32Array(bucket);
    this.arrays = this.entries.map((entry) => allocateEntry(entry, bucket));
    this.states = new Float32Array(bucket * stateSize);
  }

  clear(): void {
    this.count = 0;
  }

  /** Keeps row `row` of [*, size] `arrays` as the final observation of (step, column), and row `column` of `states`. */
  add(step: number, column: number, arrays: readonly BoxView[], row: number, states: Float32Array): void {
    if (this.count === this.steps.length) this.#grow();
    const at = this.count;
    this.steps[at] = step;
    this.columns[at] = column;
    for (let e = 0; e < arrays.length; e++) copyRow(arrays[e], row, this.arrays[e], at, this.entries[e].size);
    copyRow(states, column, this.states, at, this.stateSize);
    this.count = at + 1;
  }

  /**
   * Fills `values` under `policy` for the columns that `owners` gives to `owner`, in batches whose sizes are powers of two: few
   * shapes, little padding. States are read and not advanced.
   *
   * @param owners [slots]
   */
  async evaluate(policy: Policy, owner: number, owners: Uint8Array): Promise<void> {
    for (let next = 0; next < this.count; ) {
      let rows = 0;
      for (; next < this.count && rows < this.#staging.capacity; next++) {
        if (owners[this.columns[next]] === owner) this.#stage(next, rows++);
      }
      if (rows === 0) return;
      let bucket = 1;
      while (bucket < rows) bucket *= 2;
      await policy.run(this.#staging, bucket);
      for (let row = 0; row < rows; row++) this.values[this.#staged[row]] = policy.values[row];
    }
  }

  #stage(index: number, row: number): void {
    this.#staged[row] = index;
    for (let e = 0; e < this.arrays.length; e++) {
      copyRow(this.arrays[e], index, this.#staging.arrays[e], row, this.entries[e].size);
    }
    copyRow(this.states, index, this.#staging.states, row, this.stateSize);
  }

  #grow(): void {
    const capacity = 2 * this.steps.length;
    this.steps = enlarged(this.steps, new Int32Array(capacity));
    this.columns = enlarged(this.columns, new Int32Array(capacity));
    this.values = enlarged(this.values, new Float32Array(capacity));
    this.arrays = this.arrays.map((array, e) => enlarged(array, allocateEntry(this.entries[e], capacity)));
    this.states = enlarged(this.states, new Float32Array(capacity * this.stateSize));
  }
}

function enlarged<T extends BoxView | Int32Array<ArrayBuffer>>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
