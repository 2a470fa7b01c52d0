/** Asterix by the rules of MinAtar: cases worked out by hand. */

import { expect, test } from "vitest";
import { Asterix } from "../../../../benchmarks/suite/minatar/asterix.ts";
import { DOWN, LEFT, STAY } from "../../../../benchmarks/suite/minatar/grid.ts";
import { cells, drawing } from "./given-draws.ts";

test("gold is a point, an enemy the end, and gold that is met while it moves counts", () => {
  const game = new Asterix();
  game.start({ random: drawing() } as never);
  // Gold from the left in row 6, which the player enters as it is two cells away.
  game.rows[5] = { x: 3, dx: 1, isGold: true };
  game.update(0, DOWN);
  expect(cells(game.observe(), 4)).toEqual([
    [2, 2, 6],
    [3, 3, 6],
    [0, 5, 6],
  ]);
  // It moves in the sixth step, and in the sixth from there, when it is met.
  const rewards = Array.from({ length: 11 }, () => game.update(0, STAY).reward);
  expect(rewards.indexOf(1)).toBe(9);
  expect(game.rows[5]).toBe(null);
  game.rows[5] = { x: 4, dx: -1, isGold: false };
  expect(game.update(0, LEFT)).toMatchObject({ reward: 0, terminated: true });
});

test("it becomes harder every 102 steps, by turns", () => {
  const game = new Asterix();
  game.start({ random: drawing() } as never);
  const hardened: number[] = [];
  for (let step = 1; step <= 306; step++) {
    const before = game.spawnInterval;
    game.update(0, STAY);
    if (game.spawnInterval < before) hardened.push(step);
  }
  expect(hardened).toEqual([102, 204, 306]);
  expect([game.spawnInterval, game.moveInterval]).toEqual([7, 4]);
});
