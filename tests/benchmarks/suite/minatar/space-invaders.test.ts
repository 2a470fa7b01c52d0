/** Space Invaders by the rules of MinAtar: cases worked out by hand. */

import { expect, test } from "vitest";
import { FIRE, RIGHT, STAY } from "../../../../benchmarks/suite/minatar/grid.ts";
import { SpaceInvaders } from "../../../../benchmarks/suite/minatar/space-invaders.ts";
import { drawing } from "./given-draws.ts";

test("a bullet hits the lowest alien of its column after five steps", () => {
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

test("aliens step aside, turn a row lower at the edge, and bomb the cannon", () => {
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

test("a wave that is shot brings a faster one", () => {
  const game = new SpaceInvaders();
  game.start({ random: drawing() } as never);
  game.aliens.fill(0);
  game.aliens[3 * 10 + 5] = game.bullets[4 * 10 + 5] = 1;
  expect(game.update(0, STAY).reward).toBe(1);
  expect([game.moveInterval, game.aliens.reduce((sum, alien) => sum + alien)]).toEqual([11, 24]);
});
