/** What a person does is recorded as the wire has actions, and reaches the game as its record will. */

import { createSampler } from "@attract/worker/policy/sampler";
import { box, discrete, mixed, multiDiscrete } from "attract/spaces";
import { expect, test } from "vitest";
import { recordedActions, throughUnitBox } from "../../../../web/worker/src/stage/hand-actions.ts";

test("a choice is its number, and who does not take part has zeros", () => {
  expect([...recordedActions(discrete(3), 1, 2, Uint8Array.of(1))]).toEqual([2]);
  const both = [
    [1, 2],
    [1, 1],
  ];
  expect([...recordedActions(multiDiscrete([2, 3]), 2, both, Uint8Array.of(1, 0))]).toEqual([1, 2, 0, 0]);
});

test("P6: a mixed action reaches the game as its record will", () => {
  const space = mixed({ aim: box({ shape: [2], low: 0, high: [800, 600] }), button: discrete(3) });
  const given = throughUnitBox(space, [2, 123.4, 999]);
  const row = recordedActions(space, 1, given, Uint8Array.of(1));
  expect(row[0]).toBe(2);
  expect([row[1], row[2]].every((unit) => Math.abs(unit) <= 1)).toBe(true);
  const sampler = createSampler(space, 1);
  sampler.give(row, 0, 0);
  expect([...(sampler.gameAction(0) as Float32Array)]).toEqual([...given]);
  expect(given[2]).toBe(600);
});

test("P6: a continuous action reaches the game as its record will", () => {
  const space = box({ shape: [2], low: [-2, 0], high: [2, 10] });
  for (const wanted of [
    [-2, 10],
    [0.3, 7.7],
    [99, -99],
  ]) {
    const given = throughUnitBox(space as never, wanted);
    const unit = Float32Array.from(recordedActions(space, 1, given, Uint8Array.of(1)));
    const sampler = createSampler(space, 1);
    sampler.give(unit, 0, 0);
    expect([...(sampler.gameAction(0) as Float32Array)]).toEqual([...given]);
    expect(unit.every((u) => Math.abs(u) <= 1)).toBe(true);
    wanted.forEach((value, c) => {
      const [low, high] = [
        [-2, 0],
        [2, 10],
      ];
      expect(given[c]).toBeCloseTo(Math.min(high[c], Math.max(low[c], value)), 5);
    });
  }
});
