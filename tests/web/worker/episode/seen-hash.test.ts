/** The hash of what is seen: the same wherever it lies in memory, another for any other number. */

import { SeenHash } from "@attract/worker/episode/seen-hash";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { box, dict, discrete } from "attract/spaces";
import { expect, test } from "vitest";

const of = (definition: Partial<GameDefinition>, instance: Partial<Instance>) =>
  new SeenHash(definition as GameDefinition).of({
    numAgents: 1,
    active: Uint8Array.of(1),
    masks: [],
    ...instance,
  } as Instance);

test("bytes have the same hash at any offset, and each of them counts", () => {
  const definition = { observation: box({ shape: [7], dtype: "uint8" }) };
  const memory = new Uint8Array(64);
  const hashes = [0, 1, 2, 3].map((offset) => {
    const view = memory.subarray(offset * 8 + offset, offset * 8 + offset + 7);
    view.set([1, 2, 3, 4, 5, 6, 7]);
    return of(definition, { views: [view] });
  });
  expect(new Set(hashes).size).toBe(1);
  for (let i = 0; i < 7; i++) {
    const other = Uint8Array.of(1, 2, 3, 4, 5, 6, 7);
    other[i] ^= 128;
    expect(of(definition, { views: [other] })).not.toBe(hashes[0]);
  }
});

test("who takes part counts, what the others see does not", () => {
  const definition = { observation: box({ shape: [1] }) };
  const two = (active: number[], second: number) =>
    of(definition, {
      numAgents: 2,
      active: Uint8Array.from(active),
      views: [Float32Array.of(1), Float32Array.of(second)],
    });
  expect(two([1, 0], 5)).toBe(two([1, 0], 6));
  expect(two([1, 1], 5)).not.toBe(two([1, 1], 6));
  expect(two([1, 0], 5)).not.toBe(two([1, 1], 5));
});

test("each entry and the mask count", () => {
  const definition = {
    observation: dict({ a: box({ shape: [1] }), b: discrete(3) }),
    actionMask: true,
  };
  const seen = (a: number, b: number, mask: number[]) =>
    of(definition, {
      views: [{ a: Float32Array.of(a), b: Int32Array.of(b) }],
      masks: [Uint8Array.from(mask)],
    });
  const hashes = [seen(1, 2, [1, 1]), seen(0, 2, [1, 1]), seen(1, 0, [1, 1]), seen(1, 2, [1, 0])];
  expect(new Set(hashes).size).toBe(4);
});

test("a small view after a large one is not mixed up with it", () => {
  const hash = new SeenHash({
    observation: dict({ a: box({ shape: [40] }), b: box({ shape: [1] }) }),
  } as never);
  const seen = (b: number) =>
    hash.of({
      numAgents: 1,
      active: Uint8Array.of(1),
      masks: [],
      views: [{ a: new Float32Array(40).fill(3), b: Float32Array.of(b) }],
    } as never);
  expect(seen(1)).toBe(seen(1));
  expect(seen(1)).not.toBe(seen(2));
});
