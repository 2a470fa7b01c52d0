/** The games of MinAtar by its rules: cases worked out by hand. Random draws are given, so that no action sticks. */

import { expect, test } from "vitest";
import asterix, { Asterix } from "../../../benchmarks/suite/minatar/asterix.ts";
import breakout, { Breakout } from "../../../benchmarks/suite/minatar/breakout.ts";
import { DOWN, FIRE, LEFT, RIGHT, STAY, StickyActions } from "../../../benchmarks/suite/minatar/grid.ts";
import spaceInvaders, { SpaceInvaders } from "../../../benchmarks/suite/minatar/space-invaders.ts";
import { checkGame } from "../../../web/sdk/src/check.ts";
import type { GameRandom } from "../../../web/sdk/src/random.ts";

/** Draws the numbers given, then 0.99 forever. */
function drawing(...numbers: number[]): GameRandom {
  const next = () => numbers.shift() ?? 0.99;
  return Object.assign(next, { int: (n: number) => Math.floor(next() * n), normal: () => 0 });
}

/** Each cell that is set, as [plane, x, y]. */
function cells(observation: Uint8Array, planes: number): number[][] {
  return [...observation.keys()]
    .filter((i) => observation[i] === 255)
    .map((i) => [i % planes, Math.floor(i / planes) % 10, Math.floor(i / planes / 10)]);
}

test.each([
  ["breakout", breakout, [10, 10, 4]],
  ["asterix", asterix, [10, 10, 4]],
  ["space-invaders", spaceInvaders, [10, 10, 6]],
])("%s conforms", (_, game, shape) => {
  const report = checkGame(game, {
    steps: 500,
    now: performance.now.bind(performance),
    heapBytes: () => process.memoryUsage().heapUsed,
  });
  // Actions without effect are MinAtar's: each game has all six.
  expect(report.findings.filter(({ id }) => id !== "action-without-effect")).toEqual([]);
  expect(report.description!.observation).toMatchObject({ shape, dtype: "uint8" });
});

test("one action in ten is the last one again", () => {
  const sticky = new StickyActions(drawing(0.5, 0.09, 0.1));
  expect([LEFT, RIGHT, FIRE].map((action) => sticky.next(action))).toEqual([LEFT, LEFT, FIRE]);
});

test("breakout: the ball falls from the left, off the paddle up, and breaks a brick", () => {
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

test("breakout: a missed ball ends it, and thirty bricks come back", () => {
  const game = new Breakout();
  game.start({ random: drawing(0) } as never);
  game.bricks.fill(0);
  for (let step = 0; step < 5; step++) expect(game.update(0, LEFT).terminated).toBe(false);
  expect(game.update(0, LEFT).terminated).toBe(true);
  expect(game.bricks.reduce((sum, brick) => sum + brick)).toBe(30);
});

test("asterix: gold is a point, an enemy the end, and gold that is met while it moves counts", () => {
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

test("asterix: it becomes harder every 102 steps, by turns", () => {
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

test("space invaders: a bullet hits the lowest alien of its column after five steps", () => {
  const game = new SpaceInvaders();
  game.start({ random: drawing() } as never);
  const rewards = [game.update(0, FIRE).reward];
  expect(game.bullets[8 * 10 + 5]).toBe(1);
  for (let step = 0; step < 5; step++) rewards.push(game.update(0, FIRE).reward);
  expect(rewards).toEqual([0, 0, 0, 0, 0, 1]);
  expect(game.aliens[3 * 10 + 5]).toBe(0);
  // A second bullet left when the cannon was loaded again.
  expect(game.bullets[8 * 10 + 5]).toBe(1);
});

test("space invaders: aliens step aside, turn a row lower at the edge, and bomb the cannon", () => {
  const game = new SpaceInvaders();
  game.start({ random: drawing() } as never);
  const columns = () => [...game.aliens.keys()].filter((i) => game.aliens[i]).map((i) => i % 10);
  const steps = Array.from({ length: 20 }, (_, step) => {
    const { terminated } = game.update(0, STAY);
    return { step: step + 1, terminated, left: Math.min(...columns()) };
  });
  expect(steps.find(({ left }) => left === 1)?.step).toBe(13);
  // The bomb of the eleventh step leaves row 3 and is in the cannon's row after six more.
  expect(steps.find(({ terminated }) => terminated)?.step).toBe(17);
  game.start({ random: drawing() } as never);
  game.aliens.fill(0);
  game.aliens[5 * 10] = 1;
  game.moveIn = 0;
  game.update(0, RIGHT);
  expect([game.dx, game.aliens[6 * 10]]).toEqual([1, 1]);
});

test("space invaders: a wave that is shot brings a faster one", () => {
  const game = new SpaceInvaders();
  game.start({ random: drawing() } as never);
  game.aliens.fill(0);
  game.aliens[3 * 10 + 5] = game.bullets[4 * 10 + 5] = 1;
  expect(game.update(0, STAY).reward).toBe(1);
  expect([game.moveInterval, game.aliens.reduce((sum, alien) => sum + alien)]).toEqual([11, 24]);
});
