/** What is recorded of an episode and read again: room in a frame, which are sent, packed actions of damaged or hostile files, the hash of what is seen. What a tape holds is tested by playing it again (`replay-episode.test.ts`). */

import { deflateRawSync } from "node:zlib";
import type { Lease, RecordedEpisode } from "@attract/schema";
import { EpisodePicker } from "@attract/worker/episode/episode-picker";
import { fitting } from "@attract/worker/episode/episode-tape";
import { MAX_ACTION_BYTES, packActions, unpackActions } from "@attract/worker/episode/packed-actions";
import { SeenHash } from "@attract/worker/episode/seen-hash";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { box, dict, discrete } from "attract/spaces";
import { expect, test } from "vitest";

function episode(actionBytes: number, markBytes: number): RecordedEpisode {
  return {
    actions: { dtype: "uint8", shape: [1, 1], deflated: false, data: "A".repeat(actionBytes) },
    marks: { interval: 1, hashes: "0".repeat(markBytes) },
  } as RecordedEpisode;
}

test("an episode is sent where a frame has room for it and 64 KiB of other fields", () => {
  const one = episode(1000, 24);
  expect(fitting(one, 65_536 + 1024)).toBe(one);
  expect(fitting(one, 65_536 + 1023)).toBeNull();
  expect(fitting(null, 1 << 20)).toBeNull();
});

/** The returns of the episodes that are sent, and how many were recorded for that. */
function picked(mode: Lease["record"], returns: readonly number[], unrecorded: readonly number[] = []) {
  const sent: number[] = [];
  let recorded = 0;
  const picker = new EpisodePicker(mode, (episode) => sent.push(episode.returns[0]));
  for (const value of returns) {
    picker.offer([value], () => {
      recorded++;
      return unrecorded.includes(value) ? null : ({ returns: [value] } as RecordedEpisode);
    });
  }
  const early = [...sent];
  picker.finish();
  return { early, sent, recorded };
}

test("the best, the worst and the one nearest to the median are sent at the end, each once", () => {
  expect(picked("extremes", [3, 9, 1, 5, 4])).toEqual({ early: [], sent: [9, 1, 4], recorded: 5 });
  expect(picked("extremes", [2]).sent).toEqual([2]);
  expect(picked("extremes", []).sent).toEqual([]);
});

test("what could not be recorded is not sent", () => {
  expect(picked("extremes", [3, 9, 1], [9]).sent).toEqual([3, 1]);
});

test("all are sent as they end, and nothing where nothing is asked for", () => {
  expect(picked("all", [3, 9])).toEqual({ early: [3, 9], sent: [3, 9], recorded: 2 });
  expect(picked("none", [3, 9])).toEqual({ early: [], sent: [], recorded: 0 });
});

test("a long lease records no more than 32 candidates besides new extremes", () => {
  const { recorded, sent } = picked("extremes", [
    0,
    100,
    ...Array.from({ length: 500 }, (_, i) => 1 + (i % 50)),
  ]);
  expect(recorded).toBe(32);
  expect(sent.slice(0, 2)).toEqual([100, 0]);
});

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
