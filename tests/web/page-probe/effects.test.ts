/** Which inputs a value depends on, and how it changes. */

import { expect, test } from "vitest";
import { effectsOf, globalsSeen } from "../../../web/page-probe/src/effects.ts";
import type { Kind, Place, Value } from "../../../web/page-probe/src/places.ts";
import type { Samples } from "../../../web/page-probe/src/trial.ts";

function place(text: string, kind: Kind = "number", fields: string[] = []): Place {
  return { text, name: text, kind, fields, isShown: false, read: () => undefined };
}

const X = place("w.ship?.x");
const SCORE = place("w.score");
const TICKS = place("w.ticks");
const MODE = place("w.mode", "word");
const KEYS = place("w.keys?.Enter", "truth");
const STILL = place("w.a");
const ALL = [STILL, TICKS, MODE, SCORE, KEYS, X];

function samples(...rows: Value[][]): Samples {
  return { places: ALL, rows };
}

/** Enter starts the game, then ArrowLeft moves the ship. */
const PLAY = samples(
  [1, 0, "title", 0, false, 50],
  [1, 1, "play", 0, true, 45],
  [1, 2, "play", 1, false, 40],
);
const WITHOUT_LEFT = samples(
  [1, 0, "title", 0, false, 50],
  [1, 1, "play", 0, true, 50],
  [1, 2, "play", 1, false, 50],
);
const WITHOUT_ENTER = samples(
  [1, 0, "title", 0, false, 50],
  [1, 1, "title", 0, false, 50],
  [1, 2, "title", 0, false, 50],
);

test("an input moves what is otherwise without it", () => {
  expect([...effectsOf(PLAY, WITHOUT_LEFT)]).toEqual([[X, "down"]]);
  expect(new Map([...effectsOf(PLAY, WITHOUT_ENTER)].map(([{ text }, how]) => [text, how]))).toEqual(
    new Map([
      ["w.mode", "changed"],
      ["w.score", "up"],
      ["w.keys?.Enter", "changed"],
      ["w.ship?.x", "down"],
    ]),
  );
});

test("only as much is compared as both plays lasted", () => {
  const { rows } = WITHOUT_ENTER;
  expect([...effectsOf(PLAY, samples(rows[0]))]).toEqual([]);
});

test("what inputs move comes first, the most specific input before that which starts the game", () => {
  const effects = new Map([
    ["Enter", effectsOf(PLAY, WITHOUT_ENTER)],
    ["ArrowLeft", effectsOf(PLAY, WITHOUT_LEFT)],
  ]);
  const seen = globalsSeen(PLAY, effects);
  expect(seen.map(({ path }) => path)).toEqual([
    "w.ship?.x",
    "w.score",
    "w.mode",
    "w.ticks",
    "w.a",
    "w.keys?.Enter",
  ]);
  expect(seen[0]).toEqual({
    path: "w.ship?.x",
    kind: "number",
    value: 40,
    fields: [],
    row: [],
    first: 50,
    low: 40,
    high: 50,
    direction: "down",
    moved_by: { ArrowLeft: "down", Enter: "down" },
  });
  expect(Object.keys(seen[0].moved_by)).toEqual(["ArrowLeft", "Enter"]);
});

test("a list is its length and its first element, a grid its first cells", () => {
  const rocks = place("w.rocks", "list", ["x", "y"]);
  const board = place("w.board", "grid");
  const play = {
    places: [rocks, board],
    rows: [
      [[0], undefined],
      [
        [2, 5, 6, 7, 8],
        [2, 2, 1, 0, 0, 1],
      ],
    ],
  };
  const [list, grid] = globalsSeen(play, new Map());
  expect(list).toMatchObject({ value: 2, first: 0, low: 0, high: 2, row: [5, 6], direction: "up" });
  expect(grid).toMatchObject({ value: 4, first: null, row: [1, 0, 0, 1], direction: "changed", low: null });
});

test("a path is an expression that needs no adapter", () => {
  const paths = ["w.lookInside().ship?.x", "state(w)?.x", "phaserGame(w)?.x", "portal(w)?.score"];
  const play = { places: paths.map((path) => place(path)), rows: [[1, 1, 1, 1]] };
  expect(globalsSeen(play, new Map()).map(({ path }) => path)).toEqual([
    "ship?.x",
    "w.attractPortal?.score",
    'made(w, "Phaser.Game").at(-1)?.x',
    "JSON.parse(w.render_game_to_text())?.x",
  ]);
});
