/** Freeway by the rules of MinAtar: cases worked out by hand. */

import { expect, test } from "vitest";
import { Freeway } from "../../../../benchmarks/suite/minatar/freeway.ts";
import { STAY, UP } from "../../../../benchmarks/suite/minatar/grid.ts";
import { cells, drawing } from "./given-draws.ts";

test("it moves at each third step, is sent back by a car, and ends after 2,501 steps", () => {
  const game = new Freeway();
  game.start({ random: drawing() } as never);
  // All go right, a cell each six steps.
  expect(cells(game.observe(), 7).filter(([plane]) => plane === 6)).toHaveLength(8);
  game.cars[7] = { x: 2, dx: 1, pause: 1, moveIn: 1 };
  const rows = Array.from({ length: 9 }, () => {
    game.update(0, UP);
    return game.y;
  });
  // It waits for three steps, moves into the lane as the car is a cell away, and is hit in the step after.
  expect(rows).toEqual([9, 9, 9, 9, 9, 9, 8, 8, 8]);
  expect(game.cars[7].x).toBe(6);
  game.cars[7] = { x: 3, dx: 1, pause: 1, moveIn: 0 };
  game.update(0, STAY);
  expect(game.y).toBe(9);
  const ends = Array.from({ length: 2_491 }, () => game.update(0, STAY).terminated);
  expect(ends.indexOf(true)).toBe(2_490);
});

test("a crossing is a point, and each car gets another pace where it is", () => {
  const game = new Freeway();
  game.start({ random: drawing() } as never);
  game.y = 1;
  game.moveIn = 0;
  game.cars[0].x = 7;
  game.random = drawing(0.2, 0.1);
  expect(game.update(0, UP).reward).toBe(1);
  expect(game.y).toBe(9);
  expect(game.cars[0]).toMatchObject({ x: 7, dx: -1, pause: 2 });
});
