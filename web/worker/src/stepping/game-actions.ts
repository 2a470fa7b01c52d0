/** Actions as they travel, turned into what games take. */

import type { Action } from "attract/contract";
import { type ActionSpace, numActionComponents } from "attract/spaces";
import { UnitBox } from "../policy/unit-box.ts";

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
