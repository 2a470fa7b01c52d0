/** Actions out of base64, deflated by the server or not; a damaged or hostile file is refused in a sentence. */

import { deflateRawSync } from "node:zlib";
import { MAX_ACTION_BYTES, packActions, unpackActions } from "@attract/worker/episode/packed-actions";
import { expect, test } from "vitest";

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

test.each([
  Uint8Array.of(0, 1, 255),
  Uint16Array.of(0, 1, 65_535),
  Int32Array.of(-1, 0, 70_000),
  Float32Array.of(-0.25, 0, 1.5),
])("%s are the same again", async (numbers) => {
  const packed = packActions(numbers, [3, 1]);
  expect(await unpackActions(packed)).toEqual(numbers);
  const bytes = new Uint8Array(numbers.buffer);
  const deflated = { ...packed, deflated: true, data: base64(deflateRawSync(bytes)) };
  expect(await unpackActions(deflated)).toEqual(numbers);
});

test("a megabyte is packed without running out of arguments", async () => {
  const numbers = new Uint8Array(MAX_ACTION_BYTES).map((_, i) => i);
  const unpacked = await unpackActions(packActions(numbers, [MAX_ACTION_BYTES, 1]));
  expect(unpacked).toBeInstanceOf(Uint8Array);
  // `toEqual` takes seconds for a megabyte.
  expect(Buffer.from(unpacked.buffer).equals(numbers)).toBe(true);
});

test("more bytes than the shape says are read no further", async () => {
  const bomb = base64(deflateRawSync(new Uint8Array(64 << 20)));
  const packed = { dtype: "uint8" as const, shape: [3, 1], deflated: true, data: bomb };
  await expect(unpackActions(packed)).rejects.toThrow("the actions are damaged: more than 3 bytes");
});

test.each([
  [{ shape: [MAX_ACTION_BYTES + 1, 1] }, `the limit is ${MAX_ACTION_BYTES}`],
  [{ data: "AAE=" }, "2 bytes, [3,1] uint8 needs 3"],
  [{ data: "AAEC", deflated: true }, "the actions are damaged"],
  [{ data: "?" }, "not base64"],
])("%o is refused", async (change, text) => {
  const packed = { dtype: "uint8" as const, shape: [3, 1], deflated: false, data: "AAEC", ...change };
  await expect(unpackActions(packed)).rejects.toThrow(text);
});
