import { multiDiscrete } from "attract/spaces";
import { expect, test } from "vitest";
import { PlayerActions } from "../../../web/playtest/src/player-actions.ts";
import { evenGame, lineGame } from "../worker/support/playtests.ts";

test("what is forbidden gives way to the first that is allowed, by component and agent", () => {
  const game = lineGame(undefined, { action: multiDiscrete([3, 2]), actionMask: true, numAgents: 2 });
  const actions = new PlayerActions(game);
  actions.masks[0].set([0, 1, 1, 1, 0]);
  actions.masks[1].set([1, 1, 1, 1, 1]);
  for (const agent of [0, 1]) actions.give([9, 9, 0, 1], 1, agent);
  expect([...(actions.row as Int32Array)]).toEqual([1, 0, 0, 1]);
  expect(actions.ofGame).toEqual([Int32Array.of(1, 0), Int32Array.of(0, 1)]);
  expect(actions.allows([0, 1], 0, 0)).toBe(false);
  expect(actions.allows([1, 0], 0, 0)).toBe(true);
  expect(actions.allows([0, 1], 0, 1)).toBe(true);
});

test("only what is allowed is drawn, and an agent that takes no part has zeros", () => {
  const actions = new PlayerActions(evenGame());
  actions.masks[0].set([1, 0, 1, 0, 1, 0]);
  const drawn = new Set<number>();
  for (let i = 0; i < 100; i++) {
    actions.draw(
      0,
      Object.assign(() => (i * 0.61803) % 1, { int: () => 0, normal: () => 0 }),
    );
    drawn.add(actions.row[0]);
  }
  expect([...drawn].sort()).toEqual([0, 2, 4]);
  actions.rest(0);
  expect(actions.ofGame).toBe(0);
});
