/** Many finals: each is valued by its own policy, with its own state, whatever bucket it is read in. */

import { FinalObservationStore } from "@attract/worker/rollout/final-observations";
import { box } from "attract/spaces";
import { expect, test } from "vitest";
import { CountingPolicy } from "../support/group-game.ts";

const SPACE = box({ shape: [1] });

/** Final i is of column `numSlots - 1 - i`, saw i, and remembers 1 + i mod 7 steps. */
function filled(count: number, numSlots = count): FinalObservationStore {
  const store = new FinalObservationStore(SPACE, numSlots, 2);
  const states = new Float32Array(numSlots * 2);
  for (let i = 0; i < count; i++) {
    const column = (numSlots - 1 - i + numSlots * count) % numSlots;
    states[2 * column] = 1 + (i % 7);
    store.add(i, column, [Float32Array.of(i)], 0, states);
  }
  return store;
}

const trueValue = (i: number): number => 10_000 * (1 + (i % 7)) + i;

test("E4: every final's value is read with the state after its own step, beyond the first bucket too", async () => {
  const store = filled(300);
  const policy = new CountingPolicy(256);
  await store.evaluate(policy, 0, new Uint8Array(300));
  expect([...store.values.subarray(0, 300)]).toEqual(Array.from({ length: 300 }, (_, i) => trueValue(i)));
  // In powers of two: 256, and 44 in 64.
  expect(policy.runs).toEqual([256, 64]);
});

test("E4, E9: each policy values its own columns' finals, with their states, and no others", async () => {
  const store = filled(12);
  const owners = Uint8Array.from({ length: 12 }, (_, column) => column % 2);
  store.values.fill(-1);
  await store.evaluate(new CountingPolicy(16), 1, owners);
  const isOf = (i: number, owner: number) => owners[11 - i] === owner;
  const expected = Array.from({ length: 12 }, (_, i) => (isOf(i, 1) ? trueValue(i) : -1));
  expect([...store.values.subarray(0, 12)]).toEqual(expected);
  await store.evaluate(new CountingPolicy(16), 0, owners);
  expect([...store.values.subarray(0, 12)]).toEqual(Array.from({ length: 12 }, (_, i) => trueValue(i)));
});

test("E8: what was kept stays as it was when the store grows", () => {
  const store = filled(9, 2);
  expect([...store.steps.subarray(0, 9)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect([...store.columns.subarray(0, 9)]).toEqual([1, 0, 1, 0, 1, 0, 1, 0, 1]);
  expect([...store.arrays[0].subarray(0, 9)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(Array.from({ length: 9 }, (_, i) => store.states[2 * i])).toEqual([1, 2, 3, 4, 5, 6, 7, 1, 2]);
});
