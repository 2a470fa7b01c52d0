/** Seaquest by the rules of MinAtar: cases worked out by hand. */

import { expect, test } from "vitest";
import { DOWN, FIRE, LEFT, RIGHT, STAY, UP } from "../../../../benchmarks/suite/minatar/grid.ts";
import { Seaquest } from "../../../../benchmarks/suite/minatar/seaquest.ts";
import { cells, drawing } from "./given-draws.ts";

function begun(...draws: number[]): Seaquest {
  const game = new Seaquest();
  game.start({ random: drawing(...draws) } as never);
  return game;
}

test("what swims is shot for a point, is the end where it is met, and leaves a trail", () => {
  const game = begun();
  game.fish.push({ x: 2, y: 1, dx: 1, moveIn: 5, shotIn: null });
  game.update(0, DOWN);
  expect(cells(game.observe(), 10).filter(([plane]) => [0, 1, 3, 5].includes(plane))).toEqual([
    [3, 1, 1],
    [5, 2, 1],
    [0, 5, 1],
    [1, 6, 1],
  ]);
  // A bullet flies in the step in which it is fired: to 4, 3, 2.
  expect([FIRE, STAY, STAY].map((action) => game.update(0, action).reward)).toEqual([0, 0, 1]);
  game.submarines.push({ x: 3, y: 1, dx: 1, moveIn: 0, shotIn: 0 });
  expect(game.update(0, LEFT).terminated).toBe(true);
});

test("a submarine's shot is the end", () => {
  const game = begun();
  game.update(0, DOWN);
  game.submarines.push({ x: 2, y: 1, dx: 1, moveIn: 5, shotIn: 0 });
  // Launched at 2, it is at 3, 4, 5.
  expect([STAY, STAY, STAY].map(() => game.update(0, STAY).terminated)).toEqual([false, false, true]);
});

test("the surface costs a diver, six are paid by the air that is left, and none is the end", () => {
  const game = begun();
  game.update(0, DOWN);
  game.numDivers = 6;
  game.oxygen = 100;
  expect(game.update(0, UP)).toMatchObject({ reward: 5, terminated: false });
  expect([game.numDivers, game.oxygen, game.enemyInterval, game.moveInterval]).toEqual([-1, 200, 19, 5]);
  game.numDivers = 2;
  game.update(0, DOWN);
  expect(game.update(0, UP)).toMatchObject({ reward: 0, terminated: false });
  // The second time they move faster, too.
  expect([game.numDivers, game.enemyInterval, game.moveInterval]).toEqual([1, 18, 4]);
  game.numDivers = 0;
  game.update(0, DOWN);
  expect(game.update(0, UP).terminated).toBe(true);
});

test("air lasts for 200 steps, and divers are picked up", () => {
  const game = begun();
  game.divers.push({ x: 6, y: 1, dx: -1, moveIn: 0, shotIn: null });
  game.update(0, DOWN);
  expect([game.numDivers, game.divers]).toEqual([1, []]);
  game.enemyIn = game.diverIn = 1_000;
  const ends = Array.from({ length: 200 }, () => game.update(0, RIGHT).terminated);
  expect(ends.indexOf(true)).toBe(199);
});
