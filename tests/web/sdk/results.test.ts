/** The rewards that a game declares: what it gives beside them is its own error, while it is played and checked. */

import { expect, test } from "vitest";
import { checkGame } from "../../../web/check/src/check.ts";
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

test("hostile 8: `attract check` says which reward is outside, and where", async () => {
  const { findings, isTrainable } = await checkGame(countingGame({ maxSeconds: 10, reward: RANGE }), {
    steps: 500,
    now: () => 0,
  });
  const found = findings.find(({ id }) => id === "contract");
  expect(isTrainable).toBe(false);
  expect(found?.text).toContain("reward = 0.3125, but defineGame() declares reward: 0 to 0.25 (tick 5");
  expect(found?.method?.name).toBe("CountingGame.update");
});

/** What the third step raises, of a game that returns `result` in each. */
function thirdStep(result: unknown, options: Parameters<typeof countingGame>[0] = {}): string {
  const instance = createInstance(countingGame({ ...options, tickResult: () => result }));
  instance.start(0);
  const action = instance.numAgents === 1 ? 0 : new Uint8Array(instance.numAgents);
  instance.step(action);
  instance.step(action);
  try {
    instance.step(action);
    return "";
  } catch (error) {
    expect(error).toMatchObject({ name: "GameError", method: "update" });
    return (error as Error).message;
  }
}

// A trainer takes returns, metrics and sums of terms of up to 1e30: two steps of 4e29 are within, the third is not.
test("an episode's return, metrics and terms beyond what a trainer takes are the game's failure", () => {
  const beyond =
    /^update\(\) returned (\S+) = 4e\+29, which makes the episode's (.+) 1\.2e\+30; expected at most 1e\+30/;
  const observation = [
    [0, 0],
    [0, 0],
  ];
  for (const [result, options, field, what] of [
    [{ reward: 4e29 }, {}, "reward", "return"],
    [{ reward: [0, 4e29], observation }, { numAgents: 2, start: () => observation }, "reward[1]", "return"],
    [{ info: { gold: 4e29 } }, { metrics: { gold: "sum" } }, "info.gold", "metric (sum)"],
    [{ reward: 0, rewardTerms: { up: 4e29 } }, { rewardTerms: { up: 0 } }, "rewardTerms.up", "sum"],
  ] as const) {
    expect(beyond.exec(thirdStep(result, options))?.slice(1)).toEqual([field, what]);
  }
  expect(thirdStep({ reward: -3e29, info: { gold: 9e29 } }, { metrics: { gold: "last" } })).toBe("");
});

test("a metric of one number beyond it fails at once, a mean that comes back within does not", () => {
  const instance = createInstance(
    countingGame({ metrics: { big: "last" }, tickResult: () => ({ info: { big: 1e31 } }) }),
  );
  instance.start(0);
  expect(() => instance.step(0)).toThrow(
    "update() returned info.big = 1e+31, which makes the episode's metric (last) 1e+31",
  );
  expect(thirdStep({ info: { big: -1e30 } }, { metrics: { big: "mean" } })).toBe("");
});
