/** Breakout by the rules of MinAtar: cases worked out by hand. */

import { expect, test } from "vitest";
import { Breakout } from "../../../../benchmarks/suite/minatar/breakout.ts";
import { LEFT, RIGHT, STAY } from "../../../../benchmarks/suite/minatar/grid.ts";
import { cells, drawing } from "./given-draws.ts";

test("the ball falls from the left, off the paddle up, and breaks a brick", () => {
  const game = new Breakout();
  const first = game.start({ random: drawing(0) } as never);
  expect(cells(first, 4).filter(([plane]) => plane < 3)).toEqual([
    [1, 0, 3],
    [2, 0, 3],
    [0, 4, 9],
  ]);
  expect(game.bricks.reduce((sum, brick) => sum + brick)).toBe(30);
  // From (0, 3) one cell right and down a step: at (5, 8) after five, where the paddle has come from 4 to 5.
  for (let step = 0; step < 5; step++) expect(game.update(0, step === 0 ? RIGHT : STAY).reward).toBe(0);
  expect([game.x, game.y, game.paddle]).toEqual([5, 8, 5]);
  // The paddle is below it: it turns, a column on and in the same row.
  expect(game.update(0, STAY).terminated).toBe(false);
  expect([game.x, game.y, game.dx, game.dy]).toEqual([6, 8, 1, -1]);
  // Up: (7, 7), (8, 6), (9, 5), at the wall (9, 4), then a brick at (8, 3).
  const rewards = Array.from({ length: 5 }, () => game.update(0, STAY).reward);
  expect(rewards).toEqual([0, 0, 0, 0, 1]);
  expect([game.x, game.y, game.dx, game.dy]).toEqual([8, 4, -1, 1]);
  expect(game.bricks[3 * 10 + 8]).toBe(0);
});

test("a missed ball ends it, and thirty bricks come back", () => {
  const game = new Breakout();
  game.start({ random: drawing(0) } as never);
  game.bricks.fill(0);
  for (let step = 0; step < 5; step++) expect(game.update(0, LEFT).terminated).toBe(false);
  expect(game.update(0, LEFT).terminated).toBe(true);
  expect(game.bricks.reduce((sum, brick) => sum + brick)).toBe(30);
});
