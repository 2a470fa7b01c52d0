/** Pictures of a block as raw deflate; `test_unpacking.py` reads such streams. */

import { inflateRawSync } from "node:zlib";
import { type Block, tensorOf } from "@attract/schema";
import { canDeflate, deflateBlock, deflateRaw } from "@attract/worker/rollout/deflating";
import { expect, test } from "vitest";

const LARGE = 40 * 1024;

/** A block with only the fields that are read here. */
function blockOf(pixels: Uint8Array, stacks = true): Block {
  const picture = (bytes: Uint8Array) => tensorOf(bytes, [bytes.length, 1, 1]);
  return {
    type: "block",
    observation: { pixels: picture(pixels), time: tensorOf(new Float32Array(LARGE), [LARGE]) },
    bootstrap_observation: { pixels: picture(Uint8Array.of(1, 2, 3)) },
    final_observations: { observation: { pixels: picture(new Uint8Array(0)) } },
    packed: stacks
      ? {
          pixels: {
            deflated: false,
            stacks: { step: picture(Uint8Array.of(2)), older: picture(Uint8Array.of(9, 9)) },
          },
        }
      : {},
  } as unknown as Block;
}

/** Bytes without a pattern. */
function noise(length: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state >>> 24;
  });
}

test("what was deflated inflates to the same bytes", async () => {
  expect(canDeflate()).toBe(true);
  const bytes = Uint8Array.from({ length: 50_000 }, (_, i) => (i * i) >> 8);
  expect(Uint8Array.from(inflateRawSync(await deflateRaw(bytes)))).toEqual(bytes);
});

test("all pictures of an observation are deflated, and nothing else", async () => {
  const pixels = new Uint8Array(LARGE).fill(7);
  const block = blockOf(pixels);
  const { block: made, pictureBytes, deflatedBytes } = await deflateBlock(block, ["pixels"]);
  expect(pictureBytes).toBe(LARGE + 3 + 2);
  expect(deflatedBytes).toBeLessThan(LARGE / 50);
  const { pixels: packed } = made.packed;
  expect(packed.deflated).toBe(true);
  expect(made.observation.pixels.shape).toEqual([LARGE, 1, 1]);
  const inflated = [made.observation.pixels, made.bootstrap_observation.pixels, packed.stacks!.older].map(
    ({ data }) => Uint8Array.from(inflateRawSync(data)),
  );
  expect(inflated).toEqual([pixels, Uint8Array.of(1, 2, 3), Uint8Array.of(9, 9)]);
  // Nothing is no stream; kinds and numbers stay as they are.
  expect(made.final_observations!.observation.pixels.data).toHaveLength(0);
  expect(packed.stacks!.step).toBe(block.packed.pixels.stacks!.step);
  expect(made.observation.time).toBe(block.observation.time);
  // The block that was given is as it was: it may have to be sent like that.
  expect(block.packed.pixels.deflated).toBe(false);
  expect(block.observation.pixels.data).toHaveLength(LARGE);
});

test("pictures that are no stack are deflated, too", async () => {
  const { block } = await deflateBlock(blockOf(new Uint8Array(LARGE), false), ["pixels"]);
  expect(block.packed.pixels).toEqual({ stacks: null, deflated: true });
});

test("of two observations the one that gets smaller is deflated", async () => {
  const flat = blockOf(new Uint8Array(LARGE), false);
  const pattern = tensorOf(noise(LARGE), [LARGE, 1, 1]);
  const block = {
    ...flat,
    observation: { ...flat.observation, sky: pattern },
    bootstrap_observation: { ...flat.bootstrap_observation, sky: pattern },
    final_observations: null,
  };
  const { block: made, pictureBytes, deflatedBytes } = await deflateBlock(block, ["pixels", "sky"]);
  expect(made.packed).toEqual({ pixels: { stacks: null, deflated: true } });
  expect(made.observation.sky).toBe(pattern);
  expect(pictureBytes).toBe(3 * LARGE + 3);
  expect(deflatedBytes).toBeLessThan(2.1 * LARGE);
});

test("what is small, or does not get smaller, is sent as it is", async () => {
  for (const pixels of [new Uint8Array(1000), noise(LARGE)]) {
    const block = blockOf(pixels);
    const found = await deflateBlock(block, ["pixels"]);
    expect(found.block).toBe(block);
    expect(found.deflatedBytes).toBe(found.pictureBytes);
  }
});
