/** The observations before a reset, of one segment's truncated steps, and their values (rules E2, E8). */

import type { BoxView } from "attract/contract";
import { allocateEntry, type ObservationEntry } from "attract/observation";
import type { ObservationSpace } from "attract/spaces";
import { ObservationBatch } from "./observation-batch.ts";
import type { Policy } from "./policy.ts";

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
  readonly #staging: ObservationBatch;

  constructor(space: ObservationSpace, numSlots: number) {
    let bucket = 1;
    while (bucket < numSlots && bucket < MAX_BUCKET) bucket *= 2;
    this.#staging = new ObservationBatch(space, bucket);
    this.entries = this.#staging.entries;
    this.steps = new Int32Array(bucket);
    this.columns = new Int32Array(bucket);
    this.values = new Float32Array(bucket);
    this.arrays = this.entries.map((entry) => allocateEntry(entry, bucket));
  }

  clear(): void {
    this.count = 0;
  }

  /** Keeps row `row` of [*, size] `arrays` as the final observation of (step, column). */
  add(step: number, column: number, arrays: readonly BoxView[], row: number): void {
    if (this.count === this.steps.length) this.#grow();
    const at = this.count;
    this.steps[at] = step;
    this.columns[at] = column;
    for (let e = 0; e < arrays.length; e++) copyRow(arrays[e], row, this.arrays[e], at, this.entries[e].size);
    this.count = at + 1;
  }

  /** Fills `values` under `policy`, in batches whose sizes are powers of two: few shapes, little padding. */
  async evaluate(policy: Policy): Promise<void> {
    for (let from = 0; from < this.count; ) {
      const rows = Math.min(this.count - from, this.#staging.capacity);
      for (let row = 0; row < rows; row++) {
        for (let e = 0; e < this.arrays.length; e++) {
          copyRow(this.arrays[e], from + row, this.#staging.arrays[e], row, this.entries[e].size);
        }
      }
      let bucket = 1;
      while (bucket < rows) bucket *= 2;
      await policy.run(this.#staging, bucket);
      for (let row = 0; row < rows; row++) this.values[from + row] = policy.values[row];
      from += rows;
    }
  }

  #grow(): void {
    const capacity = 2 * this.steps.length;
    this.steps = enlarged(this.steps, new Int32Array(capacity));
    this.columns = enlarged(this.columns, new Int32Array(capacity));
    this.values = enlarged(this.values, new Float32Array(capacity));
    this.arrays = this.arrays.map((array, e) => enlarged(array, allocateEntry(this.entries[e], capacity)));
  }
}

/** Copies row `from` of [*, size] `source` to row `to` of `target`. */
export function copyRow(source: BoxView, from: number, target: BoxView, to: number, size: number): void {
  let s = from * size;
  let t = to * size;
  for (const end = s + size; s < end; s++, t++) target[t] = source[s];
}

function enlarged<T extends BoxView | Int32Array<ArrayBuffer>>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
