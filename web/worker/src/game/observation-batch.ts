/** What many slots see, may do and remember, side by side in preallocated memory: games write it, policies read it. */

import type { BoxView, ObservationView } from "attract/contract";
import type { InstanceOptions } from "attract/instance";
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

export interface BatchSizes {
  /** Bytes of one slot's action mask; 0, the default: the game has none. */
  maskSize?: number;
  /** Numbers of one slot's recurrent state; 0, the default: the policy has none. */
  stateSize?: number;
}

/** `capacity` rows per entry, row-major. Owned by one rollout loop or evaluation; allocates nothing after creation. */
export class ObservationBatch {
  readonly entries: readonly ObservationEntry[];
  /** Per entry, [capacity, size]. */
  readonly arrays: readonly BoxView[];
  readonly capacity: number;
  /** Per row, what a game instance is given to fill. */
  readonly views: readonly ObservationView[];
  readonly maskSize: number;
  /** [capacity, maskSize], 1 = allowed. */
  readonly masks: Uint8Array<ArrayBuffer>;
  /** Per row, what a game instance is given to fill. */
  readonly maskViews: readonly Uint8Array[];
  readonly stateSize: number;
  /** [capacity, stateSize]: what the policy remembers from before these observations. */
  readonly states: Float32Array<ArrayBuffer>;

  constructor(space: ObservationSpace, capacity: number, sizes: BatchSizes = {}) {
    const { maskSize = 0, stateSize = 0 } = sizes;
    this.entries = observationEntries(space);
    this.arrays = this.entries.map((entry) => allocateEntry(entry, capacity));
    this.capacity = capacity;
    const rows = Array.from({ length: capacity }, (_, row) => row);
    this.views = rows.map((row) => observationView(space, this.arrays, row));
    this.maskSize = maskSize;
    const masks = new Uint8Array(capacity * maskSize).fill(1);
    this.masks = masks;
    this.maskViews = rows.map((row) => masks.subarray(row * maskSize, (row + 1) * maskSize));
    this.stateSize = stateSize;
    this.states = new Float32Array(capacity * stateSize);
  }

  /** Views of `count` rows from `from` on, which one game's agents fill instead of returning observations. */
  memory(from: number, count: number): Required<Pick<InstanceOptions, "views" | "masks">> {
    const to = from + count;
    return { views: this.views.slice(from, to), masks: this.maskViews.slice(from, to) };
  }

  /** Copies what row `fromRow` of `from`, a batch of the same space, sees and remembers to row `row`. */
  copyRow(row: number, from: ObservationBatch, fromRow: number): void {
    for (let e = 0; e < this.arrays.length; e++) {
      copyRow(from.arrays[e], fromRow, this.arrays[e], row, this.entries[e].size);
    }
    copyRow(from.states, fromRow, this.states, row, this.stateSize);
  }

  /** Row `row` remembers nothing (rule S4). */
  clearState(row: number): void {
    this.states.fill(0, row * this.stateSize, (row + 1) * this.stateSize);
  }

  /** Clears row `row`, which no agent uses, to zeros: the policy's numbers for it stay finite. */
  clearRow(row: number): void {
    for (let e = 0; e < this.arrays.length; e++) {
      const { size } = this.entries[e];
      this.arrays[e].fill(0, row * size, (row + 1) * size);
    }
    this.clearState(row);
  }
}

/** Copies row `from` of [*, size] `source` to row `to` of `target`. */
export function copyRow(source: BoxView, from: number, target: BoxView, to: number, size: number): void {
  let s = from * size;
  let t = to * size;
  for (const end = s + size; s < end; s++, t++) target[t] = source[s];
}
