/** Blocks against the frame's limit. */

import { type Block, decodeFromBrowser, encodeMessage, int32View } from "@attract/schema";
import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createSampler } from "@attract/worker/policy/sampler";
import { type BlockFrame, BlockWriter } from "@attract/worker/rollout/block-writer";
import { SegmentRecorder } from "@attract/worker/rollout/recorder";
import { box, dict, discrete } from "attract/spaces";
import { describe, expect, test } from "vitest";
import { episodesOf } from "../support/episodes.ts";

const IDENTITY = { runId: "run", leaseId: 7, segmentIndex: 2, policyId: "main", policyVersion: 5 };
const SPACE = box({ shape: [3] });

function record(
  numSlots: number,
  horizon: number,
  truncateEvery: number,
): [SegmentRecorder, ObservationBatch] {
  const slotIds = Array.from({ length: numSlots }, (_, i) => 100 + i);
  const sampler = createSampler(discrete(2), numSlots);
  const recorder = new SegmentRecorder(SPACE, { horizon, slotIds, action: sampler });
  const batch = new ObservationBatch(SPACE, numSlots);
  recorder.begin(horizon, batch);
  for (let t = 0; t < horizon; t++) {
    for (let c = 0; c < numSlots; c++) batch.arrays[0].fill(1000 * c + t, 3 * c, 3 * c + 3);
    recorder.recordObservations(t, batch);
    const columns = Array.from({ length: numSlots }, (_, c) => c);
    for (const c of columns) {
      sampler.actions[c] = c % 2;
      sampler.logProbs[c] = -0.5 - c;
    }
    recorder.recordDecisions(
      t,
      sampler,
      Float32Array.from(columns, (c) => 1000 * c + t),
    );
    for (let c = 0; c < numSlots; c++) {
      const isEnd = (t + c) % truncateEvery === 0;
      const flags = { terminated: Uint8Array.of(0), truncated: Uint8Array.of(isEnd ? 1 : 0) };
      const outcome = { rewards: Float64Array.of(1), ...flags, valid: Uint8Array.of(1), executedTicks: 1 };
      recorder.recordOutcome(t, c, outcome, 0);
      if (!isEnd) continue;
      recorder.recordFinal(t, c, batch);
      recorder.recordEpisode(c, {
        instance_id: 100 + c,
        episode: t,
        step: t,
        returns: [1.5],
        length_steps: 3,
        length_ticks: 3,
        end_reason: "time_limit",
        metrics: { food: 2.5 },
        reward_terms: {},
        lesson_id: "small",
      });
    }
  }
  return [recorder, batch];
}

function write(recorder: SegmentRecorder, batch: ObservationBatch, maxBytes: number): BlockFrame[] {
  const frames: BlockFrame[] = [];
  const next = new BlockWriter(recorder, batch, maxBytes, "run").write(IDENTITY, 4, (frame) =>
    frames.push(frame),
  );
  expect(next).toBe(4 + frames.length);
  return frames;
}

describe("E8: a block", () => {
  test("E8: is as large as fits: no frame is above the limit, and one column more would be", () => {
    for (const maxBytes of [3000, 5000, 9000, 20_000]) {
      const [recorder, batch] = record(24, 16, 5);
      const frames = write(recorder, batch, maxBytes);
      const blocks = frames.map((frame) => decodeFromBrowser(frame.bytes) as Block);
      expect(blocks.flatMap((block) => [...block.slot_id.data].filter((_, i) => i % 4 === 0))).toEqual(
        Array.from({ length: 24 }, (_, i) => 100 + i),
      );
      for (const [i, frame] of frames.entries()) {
        expect(frame.bytes.byteLength).toBeLessThanOrEqual(maxBytes);
        expect(frame.blockIndex).toBe(4 + i);
        if (i + 1 === frames.length) continue;
        const columnBytes = frame.bytes.byteLength / blocks[i].slot_id.shape[0];
        expect(frame.bytes.byteLength + 1.6 * columnBytes + 100).toBeGreaterThan(maxBytes);
      }
    }
  });

  test("E8: keeps to the limit whatever its episodes are called", () => {
    const [recorder, batch] = record(24, 8, 1);
    const names = Array.from({ length: 20 }, (_, i) => `Äpfel ${"x".repeat(3 * i)}`);
    for (const [i, episode] of recorder.episodes.entries()) {
      const value = [0.5, 3, -70_000, 2 ** 40][i % 4];
      episode.metrics = Object.fromEntries(names.map((name) => [name, value]));
      episode.returns = [value, value, value];
      episode.lesson_id = i % 2 === 0 ? null : "Stufe drei über alles";
    }
    for (const maxBytes of [9000, 20_000]) {
      const frames = write(recorder, batch, maxBytes);
      expect(frames.length).toBeGreaterThan(1);
      for (const { bytes } of frames) expect(bytes.byteLength).toBeLessThanOrEqual(maxBytes);
    }
  });

  test("E8: keeps to the limit with masks, states, continuous actions and many named observations", () => {
    const names = Array.from({ length: 12 }, (_, i) => `part ${i}`);
    const space = dict(
      Object.fromEntries(
        names.map((name, i) => [name, box({ shape: [i + 1], dtype: i % 2 ? "uint8" : "float32" })]),
      ),
    );
    const numSlots = 300;
    const slotIds = Array.from({ length: numSlots }, (_, i) => 100_000 + i);
    for (const action of [box({ shape: [3], low: -1, high: 1 }), discrete(2)]) {
      const sampler = createSampler(action, numSlots);
      const sizes = { maskSize: action.kind === "box" ? 0 : 2, stateSize: 6 };
      const recorder = new SegmentRecorder(space, { horizon: 4, slotIds, action: sampler, ...sizes });
      const batch = new ObservationBatch(space, numSlots, sizes);
      recorder.begin(0, batch);
      for (let t = 0; t < 4; t++) for (let c = 0; c < numSlots; c++) recorder.recordFinal(t, c, batch);
      const columns = Int32Array.from({ length: 200 }, (_, i) => i + Math.floor(i / 2));
      for (const maxBytes of [40_000, 250_000]) {
        const frames: BlockFrame[] = [];
        const writer = new BlockWriter(recorder, batch, maxBytes, "run");
        const identity = { ...IDENTITY, policyId: "a policy of a long name, with an Ä" };
        writer.write(identity, 0, (frame) => frames.push(frame), columns);
        const blocks = frames.map((frame) => decodeFromBrowser(frame.bytes) as Block);
        expect(blocks.flatMap((block) => [...int32View(block.slot_id)])).toEqual(
          [...columns].map((c) => 100_000 + c),
        );
        for (const [i, { bytes }] of frames.entries()) {
          expect(bytes.byteLength).toBeLessThanOrEqual(maxBytes);
          const { shape } = blocks[i].slot_id;
          if (i + 1 < frames.length) {
            expect(bytes.byteLength * (1 + 1 / shape[0]) + 300).toBeGreaterThan(maxBytes);
          }
          expect(blocks[i].action_mask?.shape ?? null).toEqual(
            sizes.maskSize === 0 ? null : [4, shape[0], 2],
          );
          expect(blocks[i].recurrent_state.state.shape).toEqual([shape[0], 6]);
          expect(blocks[i].final_observations?.recurrent_state.state.shape).toEqual([4 * shape[0], 6]);
        }
      }
    }
  });

  test("E8: keeps to the limit with stacks of pictures of which none goes on, and cuts where it would without them", () => {
    const numSlots = 40;
    const space = dict({ eye: box({ shape: [3, 2, 4], dtype: "uint8" }), life: box({ shape: [1] }) });
    const slotIds = Array.from({ length: numSlots }, (_, i) => i);
    const action = createSampler(discrete(2), numSlots);
    const recorder = new SegmentRecorder(space, { horizon: 8, slotIds, action });
    const batch = new ObservationBatch(space, numSlots);
    recorder.begin(0, batch);
    for (let t = 0; t < 8; t++) {
      batch.arrays[0].forEach((_, i, all) => {
        all[i] = (i * 7 + t * t * 31 + (i >> 3)) % 251;
      });
      recorder.recordObservations(t, batch);
      for (let c = 0; c < numSlots; c++) recorder.recordFinal(t, c, batch);
    }
    for (const maxBytes of [5000, 20_000]) {
      const frames: BlockFrame[] = [];
      new BlockWriter(recorder, batch, maxBytes, "run", { eye: 4 }).write(IDENTITY, 0, (frame) =>
        frames.push(frame),
      );
      expect(frames.length).toBeGreaterThan(1);
      for (const { bytes } of frames) {
        expect(bytes.byteLength).toBeLessThanOrEqual(maxBytes);
        const { stacks } = (decodeFromBrowser(bytes) as Block).packed.eye;
        expect(new Set(stacks?.step.data)).toEqual(new Set([2]));
      }
      const { slot_id } = decodeFromBrowser(frames[0].bytes) as Block;
      expect(frames[0].bytes.byteLength * (1 + 1 / slot_id.shape[0]) + 600).toBeGreaterThan(maxBytes);
    }
  });

  test("E8: has at least one column, whatever its size", () => {
    const [recorder, batch] = record(3, 64, 2);
    const frames = write(recorder, batch, 1024);
    expect(frames).toHaveLength(3);
    expect(frames[0].bytes.byteLength).toBeGreaterThan(1024);
  });

  test("E8: cut or whole, the columns hold the same numbers", () => {
    const [recorder, batch] = record(6, 8, 3);
    const whole = decodeFromBrowser(write(recorder, batch, 1 << 20)[0].bytes) as Block;
    const parts = write(recorder, batch, 1600).map((frame) => decodeFromBrowser(frame.bytes) as Block);
    expect(parts.length).toBeGreaterThan(1);
    for (const name of [
      "action",
      "log_prob",
      "value",
      "reward",
      "truncated",
      "valid",
      "executed_ticks",
    ] as const) {
      const size = whole[name].data.length / (8 * 6);
      const columns: number[][] = Array.from({ length: 8 }, () => []);
      for (const part of parts) {
        const width = part.slot_id.shape[0] * size;
        for (let t = 0; t < 8; t++) columns[t].push(...part[name].data.slice(t * width, (t + 1) * width));
      }
      expect(columns.flat()).toEqual([...whole[name].data]);
    }
    expect(parts.flatMap(episodesOf)).toHaveLength(episodesOf(whole).length);
  });

  test("a frame is its own: recording on does not change it", () => {
    const [recorder, batch] = record(2, 4, 3);
    const [frame] = write(recorder, batch, 1 << 20);
    const before = frame.bytes.slice();
    recorder.numbers.reward.fill(99);
    batch.arrays[0].fill(99);
    expect(frame.bytes).toEqual(before);
    expect(encodeMessage(decodeFromBrowser(frame.bytes)).byteLength).toBe(frame.bytes.byteLength);
  });
});

test("the entries of a dict keep their names, sorted, and their dtypes", () => {
  const space = dict({ map: box({ shape: [2, 2], dtype: "uint8" }), life: box({ shape: [1] }) });
  const action = createSampler(discrete(2), 3);
  const recorder = new SegmentRecorder(space, { horizon: 2, slotIds: [0, 1, 2], action });
  const batch = new ObservationBatch(space, 3);
  recorder.begin(0, batch);
  batch.arrays[1].fill(200);
  recorder.recordObservations(0, batch);
  const frames: BlockFrame[] = [];
  new BlockWriter(recorder, batch, 1 << 16, "run").write(IDENTITY, 0, (frame) => frames.push(frame));
  const block = decodeFromBrowser(frames[0].bytes) as Block;
  expect(Object.keys(block.observation)).toEqual(["life", "map"]);
  expect(block.observation.map).toMatchObject({ dtype: "uint8", shape: [2, 3, 2, 2] });
  expect(block.observation.life).toMatchObject({ dtype: "float32", shape: [2, 3, 1] });
  expect([...block.observation.map.data.slice(0, 13)]).toEqual([...new Array(12).fill(200), 0]);
});
