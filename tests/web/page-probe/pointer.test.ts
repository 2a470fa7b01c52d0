import { expect, test } from "vitest";
import type { Place, Value } from "../../../web/page-probe/src/places.ts";
import { followersOf, placesAlong, spotsOf } from "../../../web/page-probe/src/pointer.ts";
import type { Samples } from "../../../web/page-probe/src/trial.ts";

function place(text: string, fields: string[] = []): Place {
  const kind = fields.length === 0 ? "number" : "list";
  return { text, name: text, kind, fields, isShown: false, read: () => undefined };
}

const PLACES = [place("paddle"), place("plane"), place("clicks"), place("rockets", ["hp", "x"])];
/** Values at the end of a play with the pointer in the middle, left, right, up and down. */
const ENDS: readonly Value[][] = [
  [100, 50, 1, [1, 9, 100]],
  [40, 50, 1, [1, 9, 30]],
  [160, 50, 1, [1, 9, 130]],
  [100, 80, 1, [0]],
  [100, 20, 1, [1, 9, 100]],
];

function plays(isDown: boolean): ReadonlyMap<string, Samples> {
  const samples = ENDS.map((row): Samples => ({ places: PLACES, rows: [[0, 0, 0, [0]], row] }));
  return new Map(spotsOf([200, 100], isDown).map(({ label }, i) => [label, samples[i]]));
}

test("what is between at the middle follows the pointer, also the first of a list", () => {
  const found = followersOf(plays(false), false, new Set());
  expect(found.x.map(({ text }) => text)).toEqual(["paddle", "rockets"]);
  expect(found.y.map(({ text }) => text)).toEqual(["plane"]);
  expect(followersOf(plays(true), true, new Set([PLACES[0]])).x).toEqual([PLACES[3]]);
});

test("plays that were not made say nothing", () => {
  expect(followersOf(plays(true), false, new Set())).toEqual({ x: [], y: [] });
});

test("a row has nine places, a square three times three", () => {
  const row = placesAlong([180, 100], { x: true, y: false }, true);
  expect(row.map(({ label }) => label)).toEqual(Array.from({ length: 9 }, (_, i) => `click ${i + 1}`));
  expect(row.map(({ input: { pointer } }) => Math.round(pointer?.[0] ?? 0))).toEqual(
    Array.from({ length: 9 }, (_, i) => 10 + 20 * i),
  );
  expect(row[8].input.pointer?.slice(1)).toEqual([50, "press"]);
  const square = placesAlong([60, 30], { x: true, y: true }, false).map(({ input }) => input.pointer);
  expect(square.slice(0, 4)).toEqual([
    [10, 5, "move"],
    [30, 5, "move"],
    [50, 5, "move"],
    [10, 15, "move"],
  ]);
});
