/** The rewards that a game declares: what it gives beside them is its own error, while it is played and checked. */

import { expect, test } from "vitest";
import { checkGame } from "../../../web/sdk/src/check.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";
import { countingGame } from "./counting-game.ts";

const RANGE = { low: 0, high: 0.25 };

test("hostile 8: an update's reward is held against the declared range, both ends included, in each tick", () => {
  // The reward of tick t is t / 16: the fifth is above a quarter, whatever the step comes to.
  const instance = createInstance(countingGame({ reward: RANGE, secondsPerStep: 0.2 }));
  instance.start(0);
  instance.step(0);
  instance.step(0);
  expect(instance.rewards[0]).toBe(7 / 16);
  expect(() => instance.step(0)).toThrow(
    "update() returned reward = 0.3125, but defineGame() declares reward: 0 to 0.25",
  );
});

test("hostile 8: a reward made of terms is held against it too", () => {
  const definition = countingGame({
    reward: { low: -1, high: 1 },
    rewardTerms: { up: 2 },
    tickResult: (tick) => ({ reward: undefined, rewardTerms: { up: tick === 2 ? -0.6 : 0.5 } }),
  });
  const instance = createInstance(definition);
  instance.start(0);
  instance.step(0);
  expect(instance.rewards[0]).toBe(1);
  expect(() => instance.step(0)).toThrow("reward = -1.2, but defineGame() declares reward: -1 to 1");
});

test("hostile 8: of several agents the one is named", () => {
  const observation = [
    [0, 0],
    [0, 0],
  ];
  const definition = countingGame({
    numAgents: 2,
    reward: { low: 0, high: 1 },
    create: () => ({ start: () => ({ observation }), update: () => ({ reward: [1, 1.5] }) }),
  });
  const instance = createInstance(definition);
  instance.start(0);
  expect(() => instance.step([0, 0])).toThrow("reward[1] = 1.5, but defineGame() declares reward: 0 to 1");
});

test("hostile 8: `attract check` says which reward is outside, and where", () => {
  const { findings, isTrainable } = checkGame(countingGame({ maxSeconds: 10, reward: RANGE }), {
    steps: 500,
    now: () => 0,
  });
  const found = findings.find(({ id }) => id === "contract");
  expect(isTrainable).toBe(false);
  expect(found?.text).toContain("reward = 0.3125, but defineGame() declares reward: 0 to 0.25 (tick 5");
  expect(found?.method?.name).toBe("CountingGame.update");
});
