/** Random play stays inside every action space and its mask. */

import { expect, test } from "vitest";
import { RandomPlayer } from "../../../web/sdk/src/random-play.ts";
import { type ActionSpace, box, discrete, multiBinary, multiDiscrete } from "../../../web/sdk/src/spaces.ts";

const NO_MASK = new Uint8Array(0);

function draws(space: ActionSpace, mask = NO_MASK): number[][] {
  const player = new RandomPlayer(space, 1);
  return Array.from({ length: 300 }, () => {
    const action = player.act(mask);
    return typeof action === "number" ? [action] : Array.from(action);
  });
}

test("every choice of every component is drawn, and none beyond", () => {
  const seen = (rows: number[][], i: number) => [...new Set(rows.map((row) => row[i]))].sort();
  expect(seen(draws(discrete(3)), 0)).toEqual([0, 1, 2]);
  const several = draws(multiDiscrete([2, 3]));
  expect([seen(several, 0), seen(several, 1)]).toEqual([
    [0, 1],
    [0, 1, 2],
  ]);
  expect(seen(draws(multiBinary(2)), 1)).toEqual([0, 1]);
  const reals = draws(box({ shape: [2], low: [-1, 5], high: [1, 6] }));
  expect(reals.every(([a, b]) => a >= -1 && a < 1 && b >= 5 && b <= 6)).toBe(true);
});

test("a mask leaves only what it allows", () => {
  const masked = draws(discrete(4), new Uint8Array([0, 1, 0, 1])).map(([action]) => action);
  expect([...new Set(masked)].sort()).toEqual([1, 3]);
  const several = draws(multiDiscrete([2, 3]), new Uint8Array([1, 0, 0, 0, 1]));
  expect(several.every(([a, b]) => a === 0 && b === 2)).toBe(true);
});
