/** Observations of many slots side by side in preallocated memory: what games write and the policy reads. */

import type { BoxView, ObservationView } from "attract/contract";
import {
  allocateEntry,
  type ObservationEntry,
  observationEntries,
  observationView,
} from "attract/observation";
import type { ObservationSpace } from "attract/spaces";

/** The wire's name of an entry: a plain box is `obs`, a dict's entries keep their names. */
export function entryKey(entry: ObservationEntry): string {
  return entry.name === "" ? "obs" : entry.name;
}

/** `capacity` rows per entry, row-major. Owned by one rollout loop or evaluation; allocates nothing after creation. */
export class ObservationBatch {
  readonly entries: readonly ObservationEntry[];
  /** Per entry, [capacity, size]. */
  readonly arrays: readonly BoxView[];
  readonly capacity: number;
  /** Per row, what a game instance is given to fill. */
  readonly views: readonly ObservationView[];

  constructor(space: ObservationSpace, capacity: number) {
    this.entries = observationEntries(space);
    this.arrays = this.entries.map((entry) => allocateEntry(entry, capacity));
    this.capacity = capacity;
    this.views = Array.from({ length: capacity }, (_, row) => observationView(space, this.arrays, row));
  }

  /** Copies row `fromRow` of `from`, a batch of the same space, to row `row`. */
  copyRow(row: number, from: ObservationBatch, fromRow: number): void {
    for (let e = 0; e < this.arrays.length; e++) {
      const target = this.arrays[e];
      const source = from.arrays[e];
      const { size } = this.entries[e];
      let t = row * size;
      let s = fromRow * size;
      for (const end = s + size; s < end; s++, t++) target[t] = source[s];
    }
  }
}
