import { expect, test } from "vitest";
import {
  HEIGHT,
  isBlank,
  isFlicker,
  shiftBetween,
  type Thumbnail,
  WIDTH,
} from "../../../../web/playtest/src/sight/thumbnail.ts";
import { type Painter, painted } from "./pictures.ts";

const black: Painter = () => [0, 0, 0];
/** Eight blocks on black, none at the distance of two others. */
const BLOCKS = [3, 11, 17, 28, 33, 41, 52, 58].map((x, i) => [x, (7 * i * i + 5) % 40] as const);
const blocks =
  (across = 0, down = 0): Painter =>
  (x, y) => {
    const i = BLOCKS.findIndex(
      ([u, v]) => x - across >= u && x - across < u + 4 && y - down >= v && y - down < v + 5,
    );
    return i < 0 ? [0, 0, 0] : [90 + 20 * i, 255 - 25 * i, 120];
  };
/** A picture without a ground: no two neighbouring fields of 4 x 4 cells are alike. */
const tiles =
  (across = 0, down = 0): Painter =>
  (x, y) => {
    const [u, v] = [Math.floor((x - across + 400) / 4), Math.floor((y - down + 400) / 4)];
    return [(u * 71 + v * 37) % 256, (u * 29 + v * 101) % 256, (u * 53 + v * 17) % 256];
  };
const veiled =
  (painter: Painter, alpha: number): Painter =>
  (x, y) =>
    painter(x, y).map((value) => value * (1 - alpha) + 255 * alpha) as [number, number, number];

test("one colour is blank, with what no eye can tell; a dot of one cell is not", () => {
  expect(isBlank(painted(() => [200, 200, 200]))).toBe(true);
  expect(isBlank(painted((x, y) => [20 + ((x + y) % 3), 20, 20]))).toBe(true);
  expect(isBlank(painted((x, y) => (x === 30 && y === 20 ? [40, 20, 20] : [20, 20, 20])))).toBe(false);
});

test("a frame without what its neighbours show, or with a picture of its own, is a flicker", () => {
  expect(isFlicker(painted(blocks()), painted(black), painted(blocks()))).toBe(true);
  // Half of it is gone: 4 blocks of 8.
  const half: Painter = (x, y) => (x < 32 ? [0, 0, 0] : blocks()(x, y));
  expect(isFlicker(painted(blocks()), painted(half), painted(blocks()))).toBe(false);
  expect(isFlicker(painted(blocks()), painted(tiles()), painted(blocks()))).toBe(true);
  expect(isFlicker(painted(tiles()), painted(black), painted(tiles()))).toBe(true);
  // What changes and stays is another scene.
  expect(isFlicker(painted(blocks()), painted(tiles()), painted(tiles()))).toBe(false);
});

test("a flash, a picture that shakes, a thing that blinks and one that flies by are no flicker", () => {
  for (const painter of [blocks(), tiles()]) {
    expect(isFlicker(painted(painter), painted(veiled(painter, 0.7)), painted(painter))).toBe(false);
  }
  expect(isFlicker(painted(tiles()), painted(tiles(1, -1)), painted(tiles()))).toBe(false);
  const one: Painter = (x, y) => (x >= 20 && x < 24 && y >= 10 && y < 15 ? [255, 255, 255] : [0, 0, 0]);
  // 20 cells.
  expect(isFlicker(painted(one), painted(black), painted(one))).toBe(false);
  const line: Painter = (x, y) => (x >= 4 && x < 60 && y > 20 && y < 30 ? [255, 255, 255] : [0, 0, 0]);
  // 56 * 9 = 504 of 3,072 cells: a sixth.
  expect(isFlicker(painted(black), painted(line), painted(black))).toBe(false);
});

test("a picture that moved as a whole has a shift; less than a tenth, a scene of its own and a single thing have none", () => {
  for (const [across, down] of [
    [9, 2],
    [-8, 0],
    [0, -7],
  ] as const) {
    const [x, y] = shiftBetween(painted(blocks()), painted(blocks(across, down))) ?? [99, 99];
    // To a cell.
    expect([Math.abs(x - across) <= 1, Math.abs(y - down) <= 1]).toEqual([true, true]);
  }
  expect(shiftBetween(painted(blocks()), painted(blocks(4, 3)))).toBe(null);
  expect(shiftBetween(painted(blocks()), painted(tiles()))).toBe(null);
  // Three small things, and two.
  const few = (count: number, across: number): Thumbnail =>
    painted((x, y) =>
      [6, 20, 40]
        .slice(0, count)
        .some((at, i) => x - across >= at && x - across < at + 5 && y >= 9 * i + 3 && y < 9 * i + 7)
        ? [255, 200, 0]
        : [0, 0, 0],
    );
  expect(shiftBetween(few(3, 0), few(3, 10))).not.toBe(null);
  expect(shiftBetween(few(2, 0), few(2, 10))).toBe(null);
  const moved = (by: number): Thumbnail =>
    painted((x, y) => (x >= 40 + by && x < 44 + by && y > 40 ? [255, 0, 255] : blocks()(x, y)));
  expect(shiftBetween(moved(0), moved(12))).toBe(null);
  expect(painted(black).length).toBe(4 * WIDTH * HEIGHT);
});
