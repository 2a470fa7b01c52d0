/** Rows side by side: what games write and policies read. */

import { entryKey, ObservationBatch } from "@attract/worker/game/observation-batch";
import { box, dict, discrete } from "attract/spaces";
import { expect, test } from "vitest";

const SPACE = dict({ where: box({ shape: [2] }), ahead: discrete(4) });

test("a game's memory is its rows alone, of every entry and of the mask", () => {
  const batch = new ObservationBatch(SPACE, 4, { maskSize: 3 });
  const { views, masks } = batch.memory(2, 2);
  const [third, fourth] = views as unknown as Record<string, Float32Array>[];
  third.where.set([5, 6]);
  fourth.ahead[0] = 3;
  masks[1][2] = 0;
  expect(batch.entries.map(entryKey)).toEqual(["ahead", "where"]);
  expect([...batch.arrays[0]]).toEqual([0, 0, 0, 3]);
  expect([...batch.arrays[1]]).toEqual([0, 0, 0, 0, 5, 6, 0, 0]);
  expect([...batch.masks]).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
});

test("S4: a row is copied with what it remembers, and may forget that alone or be nobody's", () => {
  const batch = new ObservationBatch(SPACE, 2, { stateSize: 2 });
  batch.arrays[0].set([1, 2]);
  batch.arrays[1].set([1, 1, 2, 2]);
  batch.states.set([1, 1, 2, 2]);
  const other = new ObservationBatch(SPACE, 1, { stateSize: 2 });
  other.copyRow(0, batch, 1);
  expect([...other.arrays[0], ...other.arrays[1], ...other.states]).toEqual([2, 2, 2, 2, 2]);
  batch.clearState(0);
  expect([...batch.states]).toEqual([0, 0, 2, 2]);
  batch.clearRow(1);
  expect([...batch.arrays[0], ...batch.arrays[1], ...batch.states]).toEqual([1, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
});

test("a plain box is called obs on the wire", () => {
  expect(new ObservationBatch(box({ shape: [1] }), 1).entries.map(entryKey)).toEqual(["obs"]);
});
