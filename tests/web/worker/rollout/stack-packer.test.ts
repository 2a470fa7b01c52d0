/** Which stacks of pictures are sent by their newest alone. What the server makes of it: `test_packed_blocks.py`. */

import { StackPacker, type StackRows } from "@attract/worker/rollout/stack-packer";
import { observationEntries } from "attract/observation";
import { box } from "attract/spaces";
import { expect, test } from "vitest";

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
