/** What the numbers of a continuous action mean to the game. */

import { type BoxSpace, boxLimit } from "attract/spaces";

/**
 * A box's unit space, where [-1, 1] stands for the game's [low, high]; what lies outside is clipped only for the game (rule P6).
 * Owned by the sampler's user; allocates nothing after creation.
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
