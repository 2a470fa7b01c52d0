/** A number for about what one agent sees: alike for observations that differ little. */

import type { BoxView, GameDefinition, ObservationView } from "attract/contract";
import { observationEntries } from "attract/observation";
import { type LeafSpace, leafLimits } from "attract/spaces";
import { OFFSET, PRIME } from "../../worker/src/episode/seen-hash.ts";

/** Parts of a bounded number's range, and of each doubling of an unbounded one. */
const NUM_BINS = 8;
const BINS_PER_DOUBLING = 2;
/** Numbers that are looked at per entry: of a picture every so manieth. */
const MAX_NUMBERS = 256;

interface Entry {
  name: string;
  indices: Int32Array;
  lows: Float64Array;
  /** Bins per unit; 0 where the number is unbounded. */
  scales: Float64Array;
}

/** Source: FNV-1a, 32 bits, over the bins. Allocates nothing after creation. */
export class CoarseView {
  readonly #entries: readonly Entry[];
  readonly #isBox: boolean;

  constructor({ observation }: Pick<GameDefinition, "observation">) {
    this.#isBox = observation.kind !== "dict";
    this.#entries = observationEntries(observation).map(({ name, size, space }) =>
      entryOf(name, size, space),
    );
  }

  of(view: ObservationView): number {
    let hash = OFFSET;
    for (let e = 0; e < this.#entries.length; e++) {
      const { name, indices, lows, scales } = this.#entries[e];
      const numbers = this.#isBox ? (view as BoxView) : (view as Record<string, BoxView>)[name];
      for (let i = 0; i < indices.length; i++) {
        const value = numbers[indices[i]];
        const scale = scales[i];
        const bin =
          scale > 0
            ? Math.floor((value - lows[i]) * scale)
            : Math.round(Math.sign(value) * BINS_PER_DOUBLING * Math.log2(1 + Math.abs(value)));
        hash = Math.imul(hash ^ bin, PRIME);
      }
    }
    return hash;
  }
}

function entryOf(name: string, size: number, space: LeafSpace): Entry {
  const length = Math.min(size, MAX_NUMBERS);
  const indices = Int32Array.from({ length }, (_, i) => Math.floor((i * size) / length));
  const lows = new Float64Array(length);
  const scales = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const [low, high] = leafLimits(space, indices[i]);
    if (!Number.isFinite(high - low)) continue;
    lows[i] = low;
    scales[i] = space.kind === "box" ? NUM_BINS / (high - low) : 1;
  }
  return { name, indices, lows, scales };
}
