/** Cuts a recorded segment into blocks that each fit a frame, and encodes them. */

import {
  type Block,
  type EpisodeResult,
  encodeMessage,
  type Tensor,
  tensorOf,
  type WireArray,
} from "@attract/schema";
import { allocateEntry, type ObservationEntry } from "attract/observation";
import { entryKey, type ObservationBatch } from "./observation-batch.ts";
import type { SegmentRecorder } from "./recorder.ts";

/** What a block says of the lease it belongs to. */
export interface BlockIdentity {
  runId: string;
  leaseId: number;
  segmentIndex: number;
  policyId: string;
  policyVersion: number;
}

/** A finished block's frame, owned by whoever gets it. */
export interface BlockFrame {
  leaseId: number;
  segmentIndex: number;
  blockIndex: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Bytes of one final observation beside the observation itself: step, column, value. */
const FINAL_BYTES = 12;
/** How much the headers of final observations may grow between none and the most. */
const FINALS_MARGIN = 64;
const LARGEST_COUNT = Number.MAX_SAFE_INTEGER;
/** Bytes of an episode result with one return of one byte, no metrics and terms, and no letters in its reason. */
const EPISODE_BYTES = encodeMessage({
  instance_id: 0,
  episode: 0,
  step: 0,
  returns: [0],
  length_steps: 0,
  length_ticks: 0,
  end_reason: "" as "cut",
  metrics: {},
  reward_terms: {},
} satisfies EpisodeResult as never).byteLength;

/** Owned by one rollout loop. Its scratch memory is made once. */
export class BlockWriter {
  readonly #recorder: SegmentRecorder;
  /** The observations after the last step: where the games write. */
  readonly #batch: ObservationBatch;
  readonly #maxFrameBytes: number;
  readonly #runId: string;
  readonly #columnBytes: number;
  readonly #observationBytes: number;
  readonly #overheadBytes: number;
  /** One buffer per recorded array, for blocks of fewer columns than the recorder has. */
  readonly #scratch = new Map<WireArray, WireArray>();

  constructor(recorder: SegmentRecorder, batch: ObservationBatch, maxFrameBytes: number, runId: string) {
    this.#recorder = recorder;
    this.#batch = batch;
    this.#maxFrameBytes = maxFrameBytes;
    this.#runId = runId;
    this.#observationBytes = recorder.entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
    // action, log_prob, value and reward 4 each, three flags, ticks 2.
    const stepBytes = this.#observationBytes + 21;
    // slot_id, first_step and bootstrap_value 4 each.
    this.#columnBytes = recorder.horizon * stepBytes + this.#observationBytes + 12;
    this.#overheadBytes = this.#measureOverhead();
  }

  /** Hands `emit` the blocks of the recorded segment, numbered from `firstBlockIndex`; returns the next free number. */
  write(identity: BlockIdentity, firstBlockIndex: number, emit: (frame: BlockFrame) => void): number {
    const extraBytes = this.#extraBytesByColumn();
    let blockIndex = firstBlockIndex;
    for (let from = 0; from < this.#recorder.numSlots; ) {
      const to = this.#blockEnd(from, extraBytes);
      const block = this.#block(identity, blockIndex, from, to);
      emit({
        leaseId: identity.leaseId,
        segmentIndex: identity.segmentIndex,
        blockIndex,
        bytes: encodeMessage(block),
      });
      blockIndex++;
      from = to;
    }
    return blockIndex;
  }

  /** The largest end for which columns [from, end) fit a frame, at least `from + 1`. */
  #blockEnd(from: number, extraBytes: Float64Array): number {
    let bytes = this.#overheadBytes;
    let to = from;
    while (to < this.#recorder.numSlots) {
      bytes += this.#columnBytes + extraBytes[to];
      if (bytes > this.#maxFrameBytes && to > from) break;
      to++;
    }
    return to;
  }

  /** [slots]: bytes of each column's final observations and episode results. */
  #extraBytesByColumn(): Float64Array {
    const { finals, episodes, episodeColumns, numSlots } = this.#recorder;
    const bytes = new Float64Array(numSlots);
    for (let i = 0; i < finals.count; i++) bytes[finals.columns[i]] += this.#observationBytes + FINAL_BYTES;
    for (let i = 0; i < episodes.length; i++) bytes[episodeColumns[i]] += resultBytes(episodes[i]);
    return bytes;
  }

  #block(identity: BlockIdentity, blockIndex: number, from: number, to: number): Block {
    const r = this.#recorder;
    const k = to - from;
    const steps = (array: WireArray): Tensor => tensorOf(this.#columns(array, 1, from, k), [r.horizon, k]);
    const slots = (array: WireArray): Tensor => tensorOf(array.subarray(from, to), [k]);
    const observation: Record<string, Tensor> = {};
    const bootstrap: Record<string, Tensor> = {};
    for (let e = 0; e < r.entries.length; e++) {
      const { shape, size } = r.entries[e];
      const key = entryKey(r.entries[e]);
      observation[key] = tensorOf(this.#columns(r.observations[e] as WireArray, size, from, k), [
        r.horizon,
        k,
        ...shape,
      ]);
      bootstrap[key] = tensorOf(this.#batch.arrays[e].subarray(from * size, to * size) as WireArray, [
        k,
        ...shape,
      ]);
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
      action: steps(r.actions),
      log_prob: steps(r.logProbs),
      value: steps(r.values),
      reward: steps(r.rewards),
      terminated: steps(r.terminated),
      truncated: steps(r.truncated),
      valid: steps(r.valid),
      executed_ticks: steps(r.executedTicks),
      action_mask: null,
      recurrent_state: {},
      bootstrap_observation: bootstrap,
      bootstrap_value: slots(r.bootstrapValues),
      final_observations: this.#finals(from, to),
      episodes: this.#episodes(from, to),
    };
  }

  /** [horizon, k, size] of `array`, [horizon, slots, size]: itself when it is whole, else gathered into scratch memory. */
  #columns(array: WireArray, size: number, from: number, k: number): WireArray {
    const { horizon, numSlots } = this.#recorder;
    if (k === numSlots) return array;
    let scratch = this.#scratch.get(array);
    if (scratch === undefined) {
      scratch = array.slice();
      this.#scratch.set(array, scratch);
    }
    const width = k * size;
    let target = 0;
    for (let t = 0; t < horizon; t++) {
      let source = (t * numSlots + from) * size;
      for (const end = source + width; source < end; source++, target++) scratch[target] = array[source];
    }
    return scratch.subarray(0, target);
  }

  #finals(from: number, to: number): Block["final_observations"] {
    const { finals, entries } = this.#recorder;
    const chosen: number[] = [];
    for (let i = 0; i < finals.count; i++) {
      if (finals.columns[i] >= from && finals.columns[i] < to) chosen.push(i);
    }
    if (chosen.length === 0) return null;
    const n = chosen.length;
    const observation: Record<string, Tensor> = {};
    for (let e = 0; e < entries.length; e++) {
      const { shape, size } = entries[e];
      const rows = allocateEntry(entries[e], n) as WireArray;
      for (let i = 0; i < n; i++) {
        rows.set(finals.arrays[e].subarray(chosen[i] * size, (chosen[i] + 1) * size), i * size);
      }
      observation[entryKey(entries[e])] = tensorOf(rows, [n, ...shape]);
    }
    const steps = Int32Array.from(chosen, (i) => finals.steps[i]);
    const columns = Int32Array.from(chosen, (i) => finals.columns[i] - from);
    const values = Float32Array.from(chosen, (i) => finals.values[i]);
    return {
      step: tensorOf(steps, [n]),
      column: tensorOf(columns, [n]),
      observation,
      value: tensorOf(values, [n]),
      recurrent_state: {},
    };
  }

  #episodes(from: number, to: number): EpisodeResult[] {
    const { episodes, episodeColumns } = this.#recorder;
    return episodes.filter((_, i) => episodeColumns[i] >= from && episodeColumns[i] < to);
  }

  /** Bytes of a frame beside its columns, with the longest numbers a block may name. */
  #measureOverhead(): number {
    const { numSlots, entries } = this.#recorder;
    const identity = {
      runId: this.#runId,
      leaseId: LARGEST_COUNT,
      segmentIndex: LARGEST_COUNT,
      policyId: "main",
      policyVersion: 2 ** 31 - 1,
    };
    const block = this.#block(identity, LARGEST_COUNT, 0, numSlots);
    const none = { dtype: "int32" as const, shape: [0], data: new Uint8Array(0) };
    const observation = Object.fromEntries(
      entries.map((entry) => [entryKey(entry), { ...none, shape: [0, ...entry.shape] }]),
    );
    const empty = { step: none, column: none, observation, value: none, recurrent_state: {} };
    const whole = encodeMessage({ ...block, final_observations: empty, episodes: [] }).byteLength;
    // A list of up to 65,535 episodes has a header of 3 bytes instead of 1.
    return whole - numSlots * this.#columnBytes + FINALS_MARGIN + 2;
  }
}

function entryBytes(entry: ObservationEntry): number {
  return entry.size * (entry.dtype === "uint8" ? 1 : 4);
}

/**
 * Bytes of `result` as MessagePack, a few too many at most: encoding it to know would cost more than playing a short episode.
 */
function resultBytes(result: EpisodeResult): number {
  // A list or map of more than 15 has a header of 3 bytes instead of 1.
  let bytes = EPISODE_BYTES + result.end_reason.length + result.returns.length - 1 + 3 * 2;
  bytes += numberBytes(result.instance_id) + numberBytes(result.episode) + numberBytes(result.step);
  bytes += numberBytes(result.length_steps) + numberBytes(result.length_ticks);
  for (const value of result.returns) bytes += numberBytes(value);
  for (const name in result.metrics) bytes += nameBytes(name) + numberBytes(result.metrics[name]);
  for (const name in result.reward_terms) bytes += nameBytes(name) + numberBytes(result.reward_terms[name]);
  return bytes;
}

/** Bytes of a number beyond the first: whole ones are as short as they can be, others are float64. */
function numberBytes(value: number): number {
  if (!Number.isSafeInteger(value)) return 8;
  if (value >= 0)
    return value < 0x80 ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : value < 0x100000000 ? 4 : 8;
  return value >= -0x20 ? 0 : value >= -0x80 ? 1 : value >= -0x8000 ? 2 : value >= -0x80000000 ? 4 : 8;
}

/** Bytes of a name, and the first byte of its number. Only a name that is not plain ASCII is taken for longer than it is. */
function nameBytes(name: string): number {
  let bytes = name.length < 32 ? 2 : 4;
  for (let i = 0; i < name.length; i++) bytes += name.charCodeAt(i) < 0x80 ? 1 : 3;
  return bytes;
}
