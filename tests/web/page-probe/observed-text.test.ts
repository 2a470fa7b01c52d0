import { expect, test } from "vitest";
import { observedLengths, observeOf, reachedOf } from "../../../web/page-probe/src/observed-text.ts";
import type { Place, Seen } from "../../../web/page-probe/src/places.ts";
import type { Reading } from "../../../web/page-probe/src/readings.ts";
import { cells, near, nearest, rows } from "../../../web/sdk/src/page/readers.ts";

function seen(text: string, scales: number[], fields: string[] = [], count = 1): Seen {
  const kind: Place["kind"] = fields.length === 0 ? "number" : "list";
  const place = { text, name: text, kind, fields, isShown: false, read: () => undefined };
  return { place, scales, fields, count };
}

function reading(all: Seen[], state: { x: string | null; y: string | null } | null): Reading {
  return { score: null, end: null, seen: all, players: { state, drawn: null }, scores: [], ends: [] };
}

/** What the written option gives in a page. */
function observed(found: Reading, window: object): number[] {
  const plain = `return ({ ${observeOf(found)} }).observe`.replace(/: any/g, "");
  const make = new Function("cells", "near", "nearest", "rows", plain);
  return (make(cells, near, nearest, rows) as (w: object) => number[])(window);
}

const ME = seen("w.state()?.me?.x", [100]);
const STONES = seen("w.state()?.stones", [100, 100, 1], ["x", "at.y", "vx"], 2);
const PAGE = {
  state: () => ({
    me: { x: 50, y: 40 },
    stones: [
      { x: 90, at: { y: 40 }, vx: 1 },
      null,
      { x: 60, at: { y: 50 }, vx: 2 },
      { x: 50, at: { y: 45 }, vx: 3 },
    ],
  }),
};

test("a list is seen from the player, the nearest first, and has room for four", () => {
  const found = reading([ME, STONES], { x: "w.state()?.me?.x", y: "w.state()?.me?.y" });
  expect(observeOf(found)).toContain("const player = { x: Number(now?.me?.x), y: Number(now?.me?.y) };");
  expect(observedLengths(found)).toEqual([1, 12]);
  // 5 below; 10 right and 10 below; 40 right: each by 100. The player itself stays where it is.
  expect(observed(found, PAGE)).toEqual([0.5, ...[0, 0.05, 3], ...[0.1, 0.1, 2], ...[0.4, 0, 1], 0, 0, 0]);
});

test("what is dead in a list is none of the nearest, where its items say so", () => {
  for (const [field, isDead] of [
    ["alive", (dead: boolean) => !dead],
    ["markedForDeletion", (dead: boolean) => dead],
  ] as const) {
    const rocks = seen("w.state()?.rocks", [100, 100, 1], ["x", "y", field], 2);
    const found = reading([ME, rocks], { x: "w.state()?.me?.x", y: "w.state()?.me?.y" });
    const rock = (x: number, dead: boolean): object => ({ x, y: 40, [field]: isDead(dead) });
    const page = { state: () => ({ me: { x: 50, y: 40 }, rocks: [rock(90, false), rock(51, true)] }) };
    const shown = Number(isDead(false));
    expect(observed(found, page)).toEqual([0.5, ...[0.4, 0, shown], ...new Array(9).fill(0)]);
  }
});

test("places that are rows of numbers are seen from the player, too", () => {
  const own = ["w.ship?.pos?.[0]", "w.ship?.pos?.[1]"];
  const all = [
    ...own.map((text) => seen(text, [100])),
    seen("w.stones", [100, 100, 1], ["pos.0", "pos.1", "hp"], 1),
  ];
  const page = {
    ship: { pos: [50, 40] },
    stones: [
      { pos: [90, 90], hp: 1 },
      { pos: [60, 50], hp: 2 },
    ],
  };
  expect(observed(reading(all, { x: own[0], y: own[1] }), page)).toEqual([0.5, 0.4, 0.1, 0.1, 2]);
});

test("the player's place is a twentieth of its way, or a cell; a paddle and the pointer have none", () => {
  const own = { x: "w.me?.x", y: "w.me?.row" };
  const all = [seen(own.x, [640]), seen(own.y, [10])];
  const at = (x: number, row: number): unknown =>
    new Function("w", `return ${reachedOf(reading(all, own))}`)({ me: { x, row } });
  expect([at(320, 3), at(351, 3), at(352, 4)]).toEqual(["10,3", "10,3", "11,4"]);
  expect(reachedOf(reading(all.slice(0, 1), own))).toBeNull();
  expect(reachedOf(reading(all, null))).toBeNull();
  const pointer = { x: "w.pointerAt?.x", y: "w.pointerAt?.y" };
  expect(reachedOf(reading([seen(pointer.x, [800]), seen(pointer.y, [600])], pointer))).toBeNull();
});

test("an angle is two numbers, by which a whole turn is none", () => {
  const angle = seen("w.state()?.me?.angle", [10]);
  const page = (turned: number) => ({ state: () => ({ me: { angle: turned } }) });
  const found = (turn: number) => reading([{ ...angle, turn }], null);
  expect(observedLengths(found(1))).toEqual([2]);
  const [cos, sin] = observed(found(1), page(2 * Math.PI));
  expect([cos, sin]).toEqual([expect.closeTo(1), expect.closeTo(0)]);
  expect(observed(found(Math.PI / 180), page(90))).toEqual([expect.closeTo(0), expect.closeTo(1)]);
  expect(observed(found(1), { state: () => ({}) })).toEqual([0, 0]);
});

test("an answer of the game's hooks is asked for once", () => {
  const text = "w.hooks.getState()?.me?.x";
  const found = reading([seen(text, [100]), seen("w.hooks.getState()?.x", [100])], { x: text, y: null });
  expect(observeOf(found).match(/getState/g)).toHaveLength(1);
});

test("with one axis of the player's known a list keeps its order, and that axis is relative", () => {
  const found = reading([ME, STONES], { x: "w.state()?.me?.x", y: null });
  expect(observed(found, PAGE)).toEqual([0.5, ...[0.4, 0.4, 1], ...[0.1, 0.5, 2]]);
});

test("without a player all stays where it is", () => {
  const found = reading([ME, STONES], null);
  expect(observeOf(found)).not.toContain("player");
  expect(observed(found, PAGE)).toEqual([0.5, ...[0.9, 0.4, 1], ...[0.6, 0.5, 2]]);
});

test("the most frequent word of a board is that of its empty cells", () => {
  const board: Seen = seen("w.board", [1]);
  const found = reading(
    [{ ...board, place: { ...board.place, kind: "grid", empty: "#111" }, fields: ["2", "2"], count: 4 }],
    null,
  );
  expect(
    observed(found, {
      board: [
        ["#111", "#f00"],
        ["2", "#111"],
      ],
    }),
  ).toEqual([0, 1, 2, 0]);
});
