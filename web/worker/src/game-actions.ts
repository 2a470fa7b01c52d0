/** Actions as they travel, turned into what games take. */

import type { Action } from "attract/contract";
import { type ActionSpace, type BoxSpace, boxLimit, numActionComponents } from "attract/spaces";

/**
 * A box's unit space, where [-1, 1] stands for the game's [low, high]; what lies outside is clipped only for the game (rule P6).
 * Owned by whoever hands games their actions; allocates nothing after creation.
 */
export class UnitBox {
  readonly #lows: Float64Array;
  readonly #ranges: Float64Array;

  constructor(space: BoxSpace, size: number) {
    this.#lows = Float64Array.from({ length: size }, (_, c) => boxLimit(space.low, c, -1));
    this.#ranges = Float64Array.from(
      { length: size },
      (_, c) => boxLimit(space.high, c, 1) - boxLimit(space.low, c, -1),
    );
  }

  /** Writes row `row` of [*, size] `actions` to the same row of `scaled`, clipped and in the game's units. */
  scale(actions: Float32Array, scaled: Float32Array, row: number): void {
    const size = this.#lows.length;
    for (let c = 0; c < size; c++) {
      const at = row * size + c;
      const clipped = Math.max(-1, Math.min(1, actions[at]));
      scaled[at] = this.#lows[c] + ((clipped + 1) / 2) * this.#ranges[c];
    }
  }
}

/** The actions of a number of slots; owned by one group of a step server. */
export class GameActions {
  /** [slots, components], as they travel. */
  readonly wire: Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  /** Shape of one action on the wire: empty for a single number. */
  readonly shape: readonly number[];
  readonly #perSlot: readonly Action[];
  readonly #unitBox: UnitBox | null;
  /** What box games are given, [slots, components]. */
  readonly #scaled: Float32Array | null;

  constructor(space: ActionSpace, numSlots: number) {
    const size = numActionComponents(space);
    const isBox = space.kind === "box";
    this.wire = isBox ? new Float32Array(numSlots * size) : new Int32Array(numSlots * size);
    this.shape = space.kind === "discrete" ? [] : [size];
    this.#unitBox = isBox ? new UnitBox(space, size) : null;
    this.#scaled = isBox ? new Float32Array(numSlots * size) : null;
    const source = this.#scaled ?? this.wire;
    this.#perSlot =
      space.kind === "discrete"
        ? []
        : Array.from({ length: numSlots }, (_, slot) => source.subarray(slot * size, (slot + 1) * size));
  }

  /** Slot `slot`'s action as its game takes it; holds until `wire` changes. */
  of(slot: number): Action {
    if (this.#perSlot.length === 0) return this.wire[slot];
    if (this.#unitBox !== null) this.#unitBox.scale(this.wire as Float32Array, this.#scaled!, slot);
    return this.#perSlot[slot];
  }
}
