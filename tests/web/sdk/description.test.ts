/** The description of a game as plain JSON, field by field. */

import { expect, test } from "vitest";
import { describe } from "../../../web/sdk/src/description.ts";
import { box, discrete } from "../../../web/sdk/src/spaces.ts";
import { countingGame } from "./counting-game.ts";

test("every field, given", () => {
  const description = describe(
    countingGame({
      secondsPerStep: 0.3,
      maxSeconds: 10,
      observation: box({ shape: [2], low: [-1, Number.NEGATIVE_INFINITY], high: 4 }),
      action: discrete(["up", "down"]),
      actionMask: true,
      keys: { ArrowUp: "up", KeyS: 1 },
      idle: "down",
      parameters: { size: { default: 10, low: 6, high: 20 } },
      metrics: { food: "last" },
      reward: { low: -1, high: 1 },
      rewardTerms: { food: 1 },
    }),
  );
  expect(description).toEqual({
    contract_version: 1,
    id: "Counting-v1",
    tick_seconds: 0.1,
    seconds_per_step: 0.3,
    ticks_per_step: 3,
    max_seconds: 10,
    max_steps: 33,
    num_agents: 1,
    // Within an array the largest float32 stands for no limit: JSON has no infinity.
    observation: { kind: "box", dtype: "float32", shape: [2], low: [-1, -3.4028234663852886e38], high: 4 },
    action: { kind: "discrete", n: 2, labels: ["up", "down"] },
    action_mask: true,
    keys: { ArrowUp: 0, KeyS: 1 },
    idle_action: 1,
    parameters: { size: { default: 10, low: 6, high: 20 } },
    metrics: { food: "last" },
    reward_terms: { food: 1 },
    reward: { low: -1, high: 1 },
    has_draw: false,
    page: null,
    picture_stacks: {},
  });
  expect(JSON.parse(JSON.stringify(description))).toEqual(description);
});

test("what is left out", () => {
  expect(describe(countingGame())).toMatchObject({
    seconds_per_step: 0.1,
    ticks_per_step: 1,
    max_seconds: null,
    max_steps: null,
    num_agents: 1,
    action_mask: false,
    keys: {},
    idle_action: null,
    parameters: {},
    metrics: {},
    reward_terms: {},
    reward: null,
    picture_stacks: {},
  });
});

test("a game that cannot be created says why", () => {
  const failing = countingGame({
    create: () => {
      throw new Error("no level");
    },
  });
  expect(() => describe(failing)).toThrow("create() threw: no level");
});
