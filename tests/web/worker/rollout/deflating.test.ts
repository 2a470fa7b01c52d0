/** Pictures of a block, in stacks and as raw deflate, which `test_unpacking.py` and `test_packed_blocks.py` read; whether deflating pays is decided by what was measured. */

import { inflateRawSync } from "node:zlib";
import { type Block, tensorOf } from "@attract/schema";
import { DeflateChoice } from "@attract/worker/rollout/deflate-choice";
import { canDeflate, deflateBlock, deflateRaw } from "@attract/worker/rollout/deflating";
import { StackPacker, type StackRows } from "@attract/worker/rollout/stack-packer";
import { observationEntries } from "attract/observation";
import { box } from "attract/spaces";
import { describe, expect, test } from "vitest";

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

const MIB = 1024 * 1024;

interface Measured {
  /** For a segment of 4 MiB. */
  playMs: number;
  /** That the connection takes for it. */
  sendMs: number;
  /** That all of it would take to be deflated. */
  deflateMs: number;
  /** What is left of its pictures, which are all but a sixteenth. */
  left: number;
}

function decided({ playMs, sendMs, deflateMs, left }: Measured): [DeflateChoice, string[]] {
  const said: string[] = [];
  const choice = new DeflateChoice((text) => said.push(text));
  expect(choice.wantsTrial).toBe(true);
  const pictures = (15 / 16) * MIB;
  choice.tried(deflateMs / 4, MIB, pictures, left * pictures);
  expect(choice.wantsTrial).toBe(false);
  let now = 5000;
  for (let segment = 0; segment < 3 && choice.verdict === null; segment++) {
    choice.waits(4 * MIB, now);
    choice.played(playMs, 4 * MIB);
    for (let block = 1; block <= 4; block++) {
      now += sendMs / 4;
      choice.waits((4 - block) * MIB, now);
    }
    // Time in which nothing is under way says nothing of the connection.
    now += 10_000;
  }
  return [choice, said];
}

describe("whether it pays", () => {
  test("not where the connection takes what is sent while the next segment is played", () => {
    // On the trainer's own machine: 800 ms of play, 20 of sending.
    const [choice, said] = decided({ playMs: 800, sendMs: 20, deflateMs: 60, left: 0.05 });
    expect(choice.isOn).toBe(false);
    expect(choice.wantsTrial).toBe(false);
    expect(said).toEqual([
      "pictures are not deflated: a segment of 4096 KiB is played in 800 ms and sent in 20, deflated in 60 ms it has 11 %",
    ]);
  });

  test("where the connection is what a segment waits for", () => {
    // 3,200 ms of sending, of which 11 % stay: 352. So 860 ms a segment in place of 3,200.
    const [choice, said] = decided({ playMs: 800, sendMs: 3200, deflateMs: 60, left: 0.05 });
    expect(choice.isOn).toBe(true);
    expect(said).toEqual([
      "pictures are deflated: a segment of 4096 KiB is played in 800 ms and sent in 3200, deflated in 60 ms it has 11 %",
    ]);
  });

  test("not where it takes longer than it saves", () => {
    expect(decided({ playMs: 800, sendMs: 1200, deflateMs: 500, left: 0.05 })[0].isOn).toBe(false);
    expect(decided({ playMs: 800, sendMs: 1200, deflateMs: 200, left: 0.05 })[0].isOn).toBe(true);
  });

  test("not where pictures hardly get smaller", () => {
    // 1,200 ms become 1,144: less than what is measured may be wrong by.
    expect(decided({ playMs: 100, sendMs: 1200, deflateMs: 60, left: 0.95 })[0].isOn).toBe(false);
  });
});

test("nothing is decided before a block was tried, and before the connection took one segment", () => {
  const said: string[] = [];
  const choice = new DeflateChoice((text) => said.push(text));
  for (let i = 0; i < 4; i++) {
    choice.waits(MIB, i);
    choice.waits(0, i + 0.5);
    choice.played(1, MIB);
  }
  expect(choice.verdict).toBeNull();
  choice.tried(1, MIB, MIB, MIB / 10);
  const slow = new DeflateChoice((text) => said.push(text));
  slow.tried(1, MIB, MIB, MIB / 10);
  slow.waits(2 * MIB, 0);
  for (let i = 0; i < 4; i++) slow.played(1, MIB);
  expect(slow.verdict).toBeNull();
  slow.waits(MIB / 2, 9000);
  slow.played(1, MIB);
  expect(slow.verdict?.deflates).toBe(true);
  expect(said).toHaveLength(1);
});

/** Stacks of three pictures of two pixels; of the second pixel each number is 100 more. */
const [ENTRY] = observationEntries(box({ dtype: "uint8", shape: [2, 1, 3] }));
const [CONTINUES, REPEATS, WHOLE] = [0, 1, 2];

function stacks(...rows: number[][]): Uint8Array {
  return Uint8Array.from(rows.flatMap((row) => [...row, ...row.map((value) => value + 100)]));
}

function rowsOf(changes: Partial<StackRows>): StackRows {
  return {
    steps: stacks([7, 8, 9], [8, 9, 10]),
    horizon: 2,
    numSlots: 1,
    columns: Int32Array.of(0),
    after: stacks([9, 10, 11]),
    beforeReset: {
      stacks: stacks([0, 0, 0]),
      rows: [],
      steps: new Int32Array(1),
      columns: new Int32Array(1),
    },
    ...changes,
  };
}

function pack(changes: Partial<StackRows>) {
  const { steps, after, beforeReset, stacks: how } = new StackPacker(ENTRY, 3).pack(rowsOf(changes));
  return {
    kinds: [how.step, how.bootstrap, how.final].map(({ data }) => [...data]),
    newest: [steps, after, beforeReset].map(({ data }) => [...data]),
    shapes: [steps, after, beforeReset, how.step, how.bootstrap, how.final, how.older].map(
      ({ shape }) => shape,
    ),
    older: [...how.older.data],
  };
}

test("a segment's first stack is sent whole, and of those that go on their newest picture", () => {
  const { kinds, newest, shapes, older } = pack({});
  expect(kinds).toEqual([[WHOLE, CONTINUES], [CONTINUES], []]);
  expect(newest).toEqual([[9, 109, 10, 110], [11, 111], []]);
  expect(older).toEqual([7, 8, 107, 108]);
  expect(shapes).toEqual([[2, 1, 2, 1, 1], [1, 2, 1, 1], [0, 2, 1, 1], [2, 1], [1], [0], [1, 2, 1, 2]]);
});

test("where an episode begins there is but one picture", () => {
  const { kinds, newest, older } = pack({
    steps: stacks([4, 4, 4], [9, 9, 9]),
    after: stacks([9, 9, 12]),
  });
  expect(kinds).toEqual([[REPEATS, REPEATS], [CONTINUES], []]);
  expect(newest[0]).toEqual([4, 104, 9, 109]);
  expect(older).toEqual([]);
});

test("what neither goes on nor begins is sent whole, by whichever pixel it differs", () => {
  const broken = stacks([7, 8, 9], [8, 9, 10]);
  // The middle picture of the second pixel of the second step.
  broken[10] += 1;
  const { kinds, older } = pack({ steps: broken, after: stacks([1, 2, 3]) });
  expect(kinds).toEqual([[WHOLE, WHOLE], [WHOLE], []]);
  expect(older).toEqual([7, 8, 107, 108, 8, 9, 108, 110, 1, 2, 101, 102]);
});

test("what is seen before a reset goes on from the step of the reset, whatever else is kept there", () => {
  const beforeReset = {
    stacks: stacks([0, 0, 0], [8, 9, 20], [9, 10, 21]),
    rows: [1, 2],
    steps: Int32Array.of(0, 0, 1),
    columns: Int32Array.of(0, 0, 0),
  };
  const { kinds, newest } = pack({ beforeReset });
  expect(kinds[2]).toEqual([CONTINUES, CONTINUES]);
  expect(newest[2]).toEqual([20, 120, 21, 121]);
});

test("columns of a part of the slots go on from their own", () => {
  // Two slots, of which the second is sent; the first one's stacks would have it go on where it does not.
  const { kinds, newest } = pack({
    steps: stacks([1, 1, 1], [5, 5, 5], [1, 1, 2], [5, 5, 6]),
    numSlots: 2,
    columns: Int32Array.of(1),
    after: stacks([5, 6, 7], [5, 6, 8]),
  });
  expect(kinds).toEqual([[REPEATS, CONTINUES], [CONTINUES], []]);
  expect(newest).toEqual([[5, 105, 6, 106], [8, 108], []]);
});

test("pictures of three colours", () => {
  const [entry] = observationEntries(box({ dtype: "uint8", shape: [1, 1, 6] }));
  const packed = new StackPacker(entry, 2).pack(
    rowsOf({
      steps: Uint8Array.of(1, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8, 9),
      after: Uint8Array.of(7, 8, 9, 7, 8, 9),
    }),
  );
  expect([...packed.steps.data]).toEqual([4, 5, 6, 7, 8, 9]);
  expect([...packed.stacks.older.data]).toEqual([1, 2, 3]);
  expect([...packed.stacks.step.data, ...packed.stacks.bootstrap.data]).toEqual([
    WHOLE,
    CONTINUES,
    CONTINUES,
  ]);
});
