/** Cuts a recorded segment into blocks that each fit a frame, and encodes them. */

import {
  type Block,
  type EpisodeColumns,
  encodeMessage,
  type PackedPictures,
  STEP_NUMBERS,
  type Tensor,
  tensorOf,
  type WireArray,
} from "@attract/schema";
import { allocateEntry, type ObservationEntry } from "attract/observation";
import { copyRow, entryKey, type ObservationBatch } from "../game/observation-batch.ts";
import { numberBytes, numberTensors } from "../game/step-numbers.ts";
import type { DeflateChoice } from "./deflate-choice.ts";
import { deflateBlock } from "./deflating.ts";
import { columnBytes, episodeColumns, nameBytes, numColumnNames, resultBytes } from "./episode-columns.ts";
import type { SegmentRecorder } from "./recorder.ts";
import { PACKED_BYTES, StackPacker } from "./stack-packer.ts";

/** What a block says of the lease it belongs to. */
export interface BlockIdentity {
  runId: string;
  leaseId: number;
  segmentIndex: number;
  policyId: string;
  policyVersion: number;
}

/** A finished block's frame, owned by its receiver. */
export interface BlockFrame {
  leaseId: number;
  segmentIndex: number;
  blockIndex: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Bytes of one final observation beside the observation and the state themselves: step, column, value. */
const FINAL_BYTES = 12;
/** How much the headers of one tensor of final observations may grow between none and the most: its count and its length. */
const FINAL_HEADER_MARGIN = 8;
/** Numbers from which on a view of them and a call of `set` cost less than copying them one by one. */
const WIDE = 64;
const LARGEST_COUNT = Number.MAX_SAFE_INTEGER;

/** Owned by one rollout loop. Its scratch memory is made once. */
export class BlockWriter {
  /** Observations that may be deflated. */
  readonly pictures: readonly string[];
  readonly #recorder: SegmentRecorder;
  /** The observations after the last step: where the games write. */
  readonly #batch: ObservationBatch;
  readonly #maxFrameBytes: number;
  readonly #runId: string;
  /** All columns, in order. */
  readonly #all: Int32Array;
  readonly #columnBytes: number;
  readonly #finalBytes: number;
  readonly #overheadBytes: number;
  /** One buffer per recorded array, for blocks of fewer columns than the recorder has. */
  readonly #scratch = new Map<WireArray, WireArray>();
  /** [slots]: place of each column in the block being written, -1 for none. */
  readonly #places: Int32Array;
  /** Per entry; null where it is no stack of pictures. */
  readonly #packers: readonly (StackPacker | null)[];

  /** @param pictureStacks how many pictures each observation has that is a stack of them. */
  constructor(
    recorder: SegmentRecorder,
    batch: ObservationBatch,
    maxFrameBytes: number,
    runId: string,
    pictureStacks: Readonly<Record<string, number>> = {},
  ) {
    const { entries, horizon, numComponents, numSlots, maskSize, stateSize } = recorder;
    this.#recorder = recorder;
    this.#batch = batch;
    this.#maxFrameBytes = maxFrameBytes;
    this.#runId = runId;
    this.#all = Int32Array.from({ length: numSlots }, (_, column) => column);
    this.#places = new Int32Array(numSlots);
    this.#packers = entries.map((entry) => {
      const depth = pictureStacks[entryKey(entry)];
      return depth === undefined ? null : new StackPacker(entry, depth);
    });
    this.pictures = entries.filter(isPicture).map(entryKey);
    // What a stack takes that had to be sent whole, with the byte that says so.
    const numStacks = this.#packers.filter((packer) => packer !== null).length;
    const observationBytes = entries.reduce((sum, entry) => sum + entryBytes(entry), numStacks);
    const stepBytes = observationBytes + 4 * numComponents + maskSize + numberBytes(STEP_NUMBERS);
    // slot_id, first_step and bootstrap_value 4 each.
    this.#columnBytes = horizon * stepBytes + observationBytes + 4 * stateSize + 12;
    this.#finalBytes = observationBytes + 4 * stateSize + FINAL_BYTES;
    this.#overheadBytes = this.#measureOverhead();
  }

  /**
   * Hands `emit` the blocks of `columns` of the recorded segment, numbered from `firstBlockIndex`; returns the next free number.
   *
   * @param columns in ascending order; default: all.
   */
  write(
    identity: BlockIdentity,
    firstBlockIndex: number,
    emit: (frame: BlockFrame) => void,
    columns: Int32Array = this.#all,
  ): number {
    let next = firstBlockIndex;
    for (const block of this.#blocks(identity, firstBlockIndex, columns)) {
      emit(frameOf(block));
      next++;
    }
    return next;
  }

  /** As `write`, with the pictures deflated, or tried, as `choice` says; the recorder must stay as it is until this is done. */
  async writeDeflated(
    identity: BlockIdentity,
    firstBlockIndex: number,
    emit: (frame: BlockFrame) => void,
    choice: DeflateChoice,
    now: () => number,
    columns: Int32Array = this.#all,
  ): Promise<number> {
    let next = firstBlockIndex;
    for (const block of this.#blocks(identity, firstBlockIndex, columns)) {
      const { isOn, wantsTrial } = choice;
      if (!isOn && !wantsTrial) emit(frameOf(block));
      else {
        const plain = isOn ? null : frameOf(block);
        const began = now();
        const { block: deflated, pictureBytes, deflatedBytes } = await deflateBlock(block, this.pictures);
        if (plain !== null) choice.tried(now() - began, plain.bytes.byteLength, pictureBytes, deflatedBytes);
        // What is tried is sent as it is: what the connection takes is measured by it.
        emit(plain ?? frameOf(deflated));
      }
      next++;
    }
    return next;
  }

  /** The blocks of `columns`, each to be encoded before the next is asked for. */
  *#blocks(identity: BlockIdentity, firstBlockIndex: number, columns: Int32Array): Generator<Block> {
    const extraBytes = this.#extraBytesByColumn();
    const episodeBytes = columnBytes(this.#recorder.episodes);
    const overhead = this.#overheadBytes + nameBytes(identity.policyId) + episodeBytes;
    let blockIndex = firstBlockIndex;
    for (let from = 0; from < columns.length; ) {
      const to = this.#blockEnd(columns, from, overhead, extraBytes);
      yield this.#block(identity, blockIndex, columns.subarray(from, to));
      blockIndex++;
      from = to;
    }
  }

  /** The largest end for which columns [from, end) fit a frame, at least `from + 1`. */
  #blockEnd(columns: Int32Array, from: number, overhead: number, extraBytes: Float64Array): number {
    let bytes = overhead;
    let to = from;
    while (to < columns.length) {
      bytes += this.#columnBytes + extraBytes[columns[to]];
      if (bytes > this.#maxFrameBytes && to > from) break;
      to++;
    }
    return to;
  }

  /** [slots]: bytes of each column's final observations and episode results. */
  #extraBytesByColumn(): Float64Array {
    const { finals, episodes, columnOfEpisode, numSlots } = this.#recorder;
    const bytes = new Float64Array(numSlots);
    for (let i = 0; i < finals.count; i++) bytes[finals.columns[i]] += this.#finalBytes;
    const numNames = numColumnNames(episodes);
    for (let i = 0; i < episodes.length; i++) {
      bytes[columnOfEpisode[i]] += resultBytes(episodes[i], numNames);
    }
    return bytes;
  }

  /** Episodes of the columns that `#places` was set for. */
  #episodesHere(): EpisodeColumns {
    const { episodes, columnOfEpisode } = this.#recorder;
    return episodeColumns(episodes.filter((_, i) => this.#places[columnOfEpisode[i]] >= 0));
  }

  /** Also sets `#places`. Without `packs` stacks of pictures are left as they are. */
  #block(identity: BlockIdentity, blockIndex: number, columns: Int32Array, packs = true): Block {
    const r = this.#recorder;
    const k = columns.length;
    const steps = (array: WireArray, shape: readonly number[] = []): Tensor =>
      tensorOf(this.#columns(array, r.horizon, sizeOf(shape), columns), [r.horizon, k, ...shape]);
    const slots = (array: WireArray, shape: readonly number[] = []): Tensor =>
      tensorOf(this.#columns(array, 1, sizeOf(shape), columns), [k, ...shape]);
    const rows = this.#finalsOf(columns);
    const observation: Record<string, Tensor> = {};
    const bootstrap: Record<string, Tensor> = {};
    const final: Record<string, Tensor> = {};
    const packed: Record<string, PackedPictures> = {};
    for (let e = 0; e < r.entries.length; e++) {
      const key = entryKey(r.entries[e]);
      const packer = packs ? this.#packers[e] : null;
      if (packer === null) {
        observation[key] = steps(r.observations[e] as WireArray, r.entries[e].shape);
        bootstrap[key] = slots(this.#batch.arrays[e] as WireArray, r.entries[e].shape);
        final[key] = this.#finalTensor(e, rows);
        continue;
      }
      const pictures = packer.pack({
        steps: r.observations[e] as Uint8Array,
        horizon: r.horizon,
        numSlots: r.numSlots,
        columns,
        after: this.#batch.arrays[e] as Uint8Array,
        beforeReset: {
          stacks: r.finals.arrays[e] as Uint8Array,
          rows,
          steps: r.finals.steps,
          columns: r.finals.columns,
        },
      });
      observation[key] = pictures.steps;
      bootstrap[key] = pictures.after;
      final[key] = pictures.beforeReset;
      packed[key] = { stacks: pictures.stacks, deflated: false };
    }
    return {
      type: "block",
      run_id: identity.runId,
      lease_id: identity.leaseId,
      segment_index: identity.segmentIndex,
      block_index: blockIndex,
      policy_id: identity.policyId,
      policy_version: identity.policyVersion,
      slot_id: slots(r.slotIds),
      first_step: slots(r.firstSteps),
      observation,
      packed,
      action: steps(r.actions, r.actionShape),
      ...numberTensors(r.numbers, steps),
      action_mask: r.maskSize === 0 ? null : steps(r.masks, [r.maskSize]),
      recurrent_state: r.stateSize === 0 ? {} : { state: slots(r.states, [r.stateSize]) },
      bootstrap_observation: bootstrap,
      bootstrap_value: slots(r.bootstrapValues),
      final_observations: rows.length === 0 ? null : this.#finals(rows, final),
      episodes: this.#episodesHere(),
    };
  }

  /** [rows, k, size] of `array`, [rows, slots, size]: itself when it is whole, else gathered into scratch memory. */
  #columns(array: WireArray, rows: number, size: number, columns: Int32Array): WireArray {
    const { numSlots } = this.#recorder;
    if (columns.length === numSlots) return array;
    let scratch = this.#scratch.get(array);
    if (scratch === undefined) {
      scratch = array.slice();
      this.#scratch.set(array, scratch);
    }
    // Neighbouring columns, as all are under one policy, are one stretch of each row.
    const isStretch = columns[columns.length - 1] - columns[0] === columns.length - 1;
    const numParts = isStretch ? 1 : columns.length;
    const width = isStretch ? columns.length * size : size;
    let target = 0;
    for (let row = 0; row < rows; row++) {
      for (let part = 0; part < numParts; part++) {
        let source = (row * numSlots + columns[part]) * size;
        if (width >= WIDE) {
          scratch.set(array.subarray(source, source + width), target);
          target += width;
        } else {
          for (const end = source + width; source < end; source++, target++) scratch[target] = array[source];
        }
      }
    }
    return scratch.subarray(0, target);
  }

  /** Rows of the final observations of `columns`. Also sets the places of the columns, which the episodes are chosen by. */
  #finalsOf(columns: Int32Array): number[] {
    const { finals } = this.#recorder;
    const places = this.#places.fill(-1);
    columns.forEach((column, place) => {
      places[column] = place;
    });
    const rows: number[] = [];
    for (let i = 0; i < finals.count; i++) if (places[finals.columns[i]] >= 0) rows.push(i);
    return rows;
  }

  /** [rows, ...] of entry `e`. */
  #finalTensor(e: number, rows: readonly number[]): Tensor {
    const { finals, entries } = this.#recorder;
    const { shape, size } = entries[e];
    const array = allocateEntry(entries[e], rows.length);
    for (let i = 0; i < rows.length; i++) copyRow(finals.arrays[e], rows[i], array, i, size);
    return tensorOf(array as WireArray, [rows.length, ...shape]);
  }

  #finals(rows: readonly number[], observation: Record<string, Tensor>): Block["final_observations"] {
    const { finals, stateSize } = this.#recorder;
    const n = rows.length;
    const states = new Float32Array(n * stateSize);
    for (let i = 0; i < n; i++) copyRow(finals.states, rows[i], states, i, stateSize);
    return {
      step: tensorOf(
        Int32Array.from(rows, (row) => finals.steps[row]),
        [n],
      ),
      column: tensorOf(
        Int32Array.from(rows, (row) => this.#places[finals.columns[row]]),
        [n],
      ),
      observation,
      value: tensorOf(
        Float32Array.from(rows, (row) => finals.values[row]),
        [n],
      ),
      recurrent_state: stateSize === 0 ? {} : { state: tensorOf(states, [n, stateSize]) },
    };
  }

  /** Bytes of a frame beside its columns and its policy's name, with the longest numbers a block may name. */
  #measureOverhead(): number {
    const { numSlots, horizon, entries, stateSize } = this.#recorder;
    const identity = {
      runId: this.#runId,
      leaseId: LARGEST_COUNT,
      segmentIndex: LARGEST_COUNT,
      policyId: "",
      policyVersion: 2 ** 31 - 1,
    };
    const block = this.#block(identity, LARGEST_COUNT, this.#all, false);
    const episodes = episodeColumns([]);
    const none = { dtype: "float32" as const, shape: [0], data: new Uint8Array(0) };
    const observation = Object.fromEntries(
      entries.map((entry) => [entryKey(entry), { ...none, shape: [0, ...entry.shape] }]),
    );
    const state: Record<string, Tensor> =
      stateSize === 0 ? {} : { state: { ...none, shape: [0, stateSize] } };
    const empty = { step: none, column: none, observation, value: none, recurrent_state: state };
    const whole = encodeMessage({ ...block, final_observations: empty, episodes }).byteLength;
    const packed = entries.filter((_, e) => this.#packers[e] !== null).map(entryKey);
    const packedBytes = packed.reduce((sum, key) => sum + PACKED_BYTES + nameBytes(key), 0);
    const kindBytes = numSlots * (horizon + 1) * packed.length;
    const margin = FINAL_HEADER_MARGIN * (entries.length + 4) + packedBytes + kindBytes;
    return whole - numSlots * this.#columnBytes + margin;
  }
}

function frameOf(block: Block): BlockFrame {
  const { lease_id: leaseId, segment_index: segmentIndex, block_index: blockIndex } = block;
  return { leaseId, segmentIndex, blockIndex, bytes: encodeMessage(block) };
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

function isPicture({ dtype, shape }: ObservationEntry): boolean {
  return dtype === "uint8" && shape.length === 3;
}

function entryBytes(entry: ObservationEntry): number {
  return entry.size * (entry.dtype === "uint8" ? 1 : 4);
}
