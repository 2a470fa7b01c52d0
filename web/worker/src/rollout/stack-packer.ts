/** What a block sends of stacks of pictures: of each the newest, where the others follow from what is sent already. */

import { type PackedStacks, type Tensor, tensorOf } from "@attract/schema";
import type { ObservationEntry } from "attract/observation";

/** As `pictures.py` of the server's schema has them. */
const CONTINUES = 0;
const REPEATS = 1;
const WHOLE = 2;

/** Bytes that a packed observation's names and headers take in a block; `PACKED_BYTES` of the server's configuration. */
export const PACKED_BYTES = 384;

/** Stacks of one observation, [rows, size] each, and which of their rows a block has. */
export interface StackRows {
  /** [horizon x slots, size]: row t x slots + c is what slot c saw before step t. */
  readonly steps: Uint8Array;
  readonly horizon: number;
  readonly numSlots: number;
  /** The slots' columns. */
  readonly columns: Int32Array;
  /** [slots, size]: after the last step. */
  readonly after: Uint8Array;
  /** [*, size]: before resets. Row r is of step `steps[r]` of slot `columns[r]`; the block has `rows`. */
  readonly beforeReset: {
    readonly stacks: Uint8Array;
    readonly rows: readonly number[];
    readonly steps: Int32Array;
    readonly columns: Int32Array;
  };
}

/** The tensors of a block that are of one observation; memory of their own. */
export interface PackedObservation {
  readonly steps: Tensor;
  readonly after: Tensor;
  readonly beforeReset: Tensor;
  readonly stacks: PackedStacks;
}

/** Packs the blocks of one observation; owned by a block writer. What it packs is looked at: a game that stacks otherwise costs bytes only. */
export class StackPacker {
  readonly #rows: number;
  readonly #columns: number;
  /** Numbers of a stack, of a pixel of it, of its newest picture there. */
  readonly #size: number;
  readonly #channels: number;
  readonly #newest: number;

  /** @param depth how many pictures a stack of `entry` has. */
  constructor(entry: ObservationEntry, depth: number) {
    const [rows, columns, channels] = entry.shape;
    this.#rows = rows;
    this.#columns = columns;
    this.#size = entry.size;
    this.#channels = channels;
    this.#newest = channels / depth;
  }

  pack({ steps, horizon, numSlots, columns, after, beforeReset: resets }: StackRows): PackedObservation {
    const k = columns.length;
    const older: Older[] = [];
    const ofSteps = this.#part(
      horizon * k,
      older,
      (i) => {
        const row = Math.floor(i / k) * numSlots + columns[i % k];
        return [steps, row, row - numSlots];
      },
      steps,
    );
    const last = (horizon - 1) * numSlots;
    const ofAfter = this.#part(k, older, (i) => [after, columns[i], last + columns[i]], steps);
    const ofResets = this.#part(
      resets.rows.length,
      older,
      (i) => {
        const row = resets.rows[i];
        return [resets.stacks, row, resets.steps[row] * numSlots + resets.columns[row]];
      },
      steps,
    );
    return {
      steps: this.#pictures(ofSteps.newest, [horizon, k]),
      after: this.#pictures(ofAfter.newest, [k]),
      beforeReset: this.#pictures(ofResets.newest, [resets.rows.length]),
      stacks: {
        step: tensorOf(ofSteps.kinds, [horizon, k]),
        bootstrap: tensorOf(ofAfter.kinds, [k]),
        final: tensorOf(ofResets.kinds, [resets.rows.length]),
        older: this.#olderPictures(older),
      },
    };
  }

  /** @param place of the i-th stack: where it lies, its row there, and the row of `before` it may continue, negative for none. */
  #part(
    count: number,
    older: Older[],
    place: (i: number) => readonly [stacks: Uint8Array, row: number, before: number],
    before: Uint8Array,
  ): { kinds: Uint8Array; newest: Uint8Array } {
    const pictureSize = (this.#size / this.#channels) * this.#newest;
    const kinds = new Uint8Array(count);
    const newest = new Uint8Array(count * pictureSize);
    for (let i = 0; i < count; i++) {
      const [stacks, row, rowBefore] = place(i);
      const at = row * this.#size;
      if (rowBefore >= 0 && this.#follows(stacks, at, before, rowBefore * this.#size)) kinds[i] = CONTINUES;
      else if (this.#follows(stacks, at, stacks, at)) kinds[i] = REPEATS;
      else {
        kinds[i] = WHOLE;
        older.push({ stacks, at });
      }
      this.#copy(stacks, at, this.#channels - this.#newest, this.#newest, newest, i * pictureSize);
    }
    return { kinds, newest };
  }

  /** Whether all pictures but the newest of the stack at `at` are those but the oldest of the one at `from` of `before`. */
  #follows(stacks: Uint8Array, at: number, before: Uint8Array, from: number): boolean {
    const channels = this.#channels;
    const numOlder = channels - this.#newest;
    const first = from + this.#newest;
    // In one stretch: where a newest number stands beside another pixel's oldest they may differ, which is seldom looked at.
    for (let i = 0, end = this.#size - this.#newest; i < end; i++)
      if (stacks[at + i] !== before[first + i] && i % channels < numOlder) return false;
    return true;
  }

  /** Copies `width` channels of each pixel, from channel `channel` on. */
  #copy(
    stacks: Uint8Array,
    at: number,
    channel: number,
    width: number,
    target: Uint8Array,
    to: number,
  ): void {
    let next = to;
    for (let pixel = 0; pixel < this.#size; pixel += this.#channels) {
      const first = at + pixel + channel;
      for (let i = 0; i < width; i++) target[next++] = stacks[first + i];
    }
  }

  #pictures(newest: Uint8Array, leading: readonly number[]): Tensor {
    return tensorOf(newest, [...leading, this.#rows, this.#columns, this.#newest]);
  }

  #olderPictures(older: readonly Older[]): Tensor {
    const width = this.#channels - this.#newest;
    const size = this.#rows * this.#columns * width;
    const pictures = new Uint8Array(older.length * size);
    for (const [i, { stacks, at }] of older.entries()) this.#copy(stacks, at, 0, width, pictures, i * size);
    return tensorOf(pictures, [older.length, this.#rows, this.#columns, width]);
  }
}

/** A stack whose older pictures are sent, too. */
interface Older {
  stacks: Uint8Array;
  at: number;
}
