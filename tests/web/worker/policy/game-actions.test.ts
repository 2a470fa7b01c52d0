/** What games are given of the actions that samplers hold. */

import { GameActions } from "@attract/worker/policy/game-actions";
import { createSampler } from "@attract/worker/policy/sampler";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";

test("one agent's action is a game's action; several agents' come together, game by game", () => {
  const sampler = createSampler(discrete(9), 6);
  for (let slot = 0; slot < 6; slot++) sampler.give([3, 1, 4, 1, 5, 8], slot, slot);
  const alone = new GameActions(sampler, 1);
  expect([0, 1, 2, 3, 4, 5].map((i) => alone.of(i))).toEqual([3, 1, 4, 1, 5, 8]);
  const three = new GameActions(sampler, 3);
  const first = three.of(0);
  expect(first).toEqual([3, 1, 4]);
  expect(three.of(1)).toEqual([1, 5, 8]);
  // The same array every time: nothing is allocated per step.
  expect(three.of(0)).toBe(first);
});

test("P6: a box comes in the game's units, clipped for the game alone", () => {
  const sampler = createSampler(box({ shape: [1], low: 10, high: 20 }), 2);
  for (let slot = 0; slot < 2; slot++) sampler.give([0, 3], slot, slot);
  const given = new GameActions(sampler, 2).of(0) as readonly ArrayLike<number>[];
  expect(given.map((action) => action[0])).toEqual([15, 20]);
  expect([...sampler.actions]).toEqual([0, 3]);
});
