/** Writes random play of stacked pictures as blocks, packed and as it is; run by `test_packed_blocks.py` as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import { box, dict, discrete } from "attract/spaces";
import { ObservationBatch } from "../../web/worker/src/game/observation-batch.ts";
import { createSampler } from "../../web/worker/src/policy/sampler.ts";
import { BlockWriter } from "../../web/worker/src/rollout/block-writer.ts";
import { SegmentRecorder } from "../../web/worker/src/rollout/recorder.ts";

interface Case {
  seed: number;
  depth: number;
  channels: number;
  isDict: boolean;
  rows: number;
  columns: number;
  slots: number;
  horizon: number;
  segments: number;
}

const LARGEST_FRAME = 1 << 24;

/** mulberry32: uniform in [0, 1). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function play(given: Case): { packed: string; plain: string }[] {
  const { seed, depth, channels, rows, columns, slots, horizon, segments, isDict } = given;
  const random = randomOf(seed);
  const chance = (of: number): boolean => random() < of;
  const pixels = box({ dtype: "uint8", shape: [rows, columns, depth * channels] });
  const space = isDict ? dict({ time: box({ shape: [1] }), a_picture: pixels }) : pixels;
  const sampler = createSampler(discrete(2), slots);
  const slotIds = Array.from({ length: slots }, (_, i) => i);
  const recorder = new SegmentRecorder(space, { horizon, slotIds, action: sampler });
  const batch = new ObservationBatch(space, slots);
  const entry = batch.entries.findIndex(({ dtype }) => dtype === "uint8");
  const { size } = batch.entries[entry];
  const stackOf = (slot: number): Uint8Array =>
    (batch.arrays[entry] as Uint8Array).subarray(slot * size, (slot + 1) * size);

  /** A picture more, as the reader of pages has it; now and then the one before again. */
  function look(slot: number, isFirst: boolean): void {
    const stack = stackOf(slot);
    const isStill = chance(0.2);
    for (let pixel = 0; pixel < size; pixel += depth * channels) {
      for (let c = 0; c < channels; c++) {
        const newest = pixel + (depth - 1) * channels + c;
        const value = isStill && !isFirst ? stack[newest] : Math.floor(256 * random());
        for (let i = pixel + c; i < newest; i += channels) stack[i] = isFirst ? value : stack[i + channels];
        stack[newest] = value;
      }
    }
  }

  for (let slot = 0; slot < slots; slot++) look(slot, true);
  const key = isDict ? "a_picture" : "obs";
  const plain = new BlockWriter(recorder, batch, LARGEST_FRAME, "run");
  const packing = new BlockWriter(recorder, batch, LARGEST_FRAME, "run", depth > 1 ? { [key]: depth } : {});
  const found: { packed: string; plain: string }[] = [];
  for (let segment = 0; segment < segments; segment++) {
    recorder.begin(segment * horizon, batch);
    for (let t = 0; t < horizon; t++) {
      recorder.recordObservations(t, batch);
      recorder.recordDecisions(t, sampler, new Float32Array(slots));
      for (let slot = 0; slot < slots; slot++) {
        const [isOver, isCut, isBroken] = [chance(0.15), chance(0.15), chance(0.05)];
        // What a game does that does not stack as it says: it costs bytes, and nothing else.
        if (chance(0.05)) stackOf(slot).set(Array.from({ length: size }, () => Math.floor(256 * random())));
        else look(slot, false);
        const flags = {
          terminated: Uint8Array.of(isOver ? 1 : 0),
          truncated: Uint8Array.of(!isOver && isCut ? 1 : 0),
        };
        const outcome = { rewards: Float64Array.of(1), ...flags, valid: Uint8Array.of(1), executedTicks: 1 };
        recorder.recordOutcome(t, slot, outcome, 0);
        if (isBroken) recorder.recordFailure(t, slot, batch.states);
        else if (!isOver && isCut) recorder.recordFinal(t, slot, batch);
        if (isBroken || isOver || isCut) look(slot, true);
      }
    }
    // Blocks cut anywhere: each column to one of three, which are not neighbours.
    const parts: number[][] = [[], [], []];
    for (const slot of slotIds) parts[Math.floor(3 * random())].push(slot);
    for (const part of parts.filter(({ length }) => length > 0)) {
      const identity = {
        runId: "run",
        leaseId: 1,
        segmentIndex: segment,
        policyId: "main",
        policyVersion: 0,
      };
      const pair = { packed: "", plain: "" };
      for (const [name, writer] of [
        ["packed", packing],
        ["plain", plain],
      ] as const)
        writer.write(
          identity,
          0,
          ({ bytes }) => {
            pair[name] += Buffer.from(bytes).toString("hex");
          },
          Int32Array.from(part),
        );
      found.push(pair);
    }
  }
  return found;
}

const [, , inputPath, outputPath] = process.argv;
const cases = JSON.parse(readFileSync(inputPath, "utf8")) as Case[];
writeFileSync(outputPath, JSON.stringify(cases.map(play)));
