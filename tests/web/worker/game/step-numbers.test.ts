import { OUTCOME_NUMBERS, STEP_NUMBERS, tensorOf } from "@attract/schema";
import { expect, test } from "vitest";
import {
  allocateNumbers,
  clearNumbers,
  numberBytes,
  numberTensors,
} from "../../../../web/worker/src/game/step-numbers.ts";

test("each number has an array of its own kind, and is sent as that kind", () => {
  const numbers = allocateNumbers(STEP_NUMBERS, 3);
  numbers.reward[1] = 2.5;
  numbers.truncated[2] = 1;
  numbers.executed_ticks[0] = 40_000;
  const sent = numberTensors(numbers, (array) => tensorOf(array, [3]));
  expect(Object.keys(sent)).toEqual(Object.keys(STEP_NUMBERS));
  const dtypes = { float32: "float32", bool: "uint8", uint16: "uint16" };
  for (const [name, dtype] of Object.entries(STEP_NUMBERS)) {
    expect(sent[name as keyof typeof STEP_NUMBERS].dtype, name).toBe(dtypes[dtype]);
  }
  expect(new Float32Array(sent.reward.data.slice().buffer)).toEqual(new Float32Array([0, 2.5, 0]));
  expect(sent.executed_ticks.data.slice(0, 2)).toEqual(new Uint8Array([40_000 % 256, 40_000 >> 8]));
});

test("the bytes of a step are those that its numbers take on the wire", () => {
  const sent = numberTensors(allocateNumbers(STEP_NUMBERS, 1), (array) => tensorOf(array, [1]));
  const bytes = Object.values(sent).reduce((sum, tensor) => sum + tensor.data.byteLength, 0);
  expect(numberBytes(STEP_NUMBERS)).toBe(bytes);
  expect(numberBytes({ one: "uint16", other: "float32" })).toBe(6);
});

test("one place is cleared, and no other", () => {
  const numbers = allocateNumbers(OUTCOME_NUMBERS, 2);
  for (const array of Object.values(numbers)) array.fill(1);
  clearNumbers(numbers, 1);
  for (const [name, array] of Object.entries(numbers)) expect([...array], name).toEqual([1, 0]);
});
