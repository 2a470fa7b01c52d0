/** CartPole conforms; its dynamics are checked against Gymnasium in tests/contract. */

import { expect, test } from "vitest";
import definition, { type CartPole } from "../../../web/games/cartpole/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { describeConformance } from "./conformance.ts";

// One point per step is what CartPole is: the warning about it is right and stays.
describeConformance(definition, { maxMicrosecondsPerTick: 20 });

test("starts are uniform in plus or minus 0.05 in all four numbers", () => {
  const instance = new GameInstance(definition, { seedLow: 9 });
  const sums = [0, 0, 0, 0];
  const count = 20_000;
  for (let episode = 0; episode < count; episode++) {
    instance.start(episode);
    (instance.game as CartPole).state.forEach((value, i) => {
      expect(Math.abs(value)).toBeLessThanOrEqual(0.05);
      sums[i] += value * value;
    });
  }
  // The variance of a uniform of width 0.1 is 0.01 / 12; its estimate deviates by 0.9 / sqrt(20,000) = 0.6 %.
  for (const sum of sums) expect(sum / count / (0.01 / 12)).toBeCloseTo(1, 1);
});

test("E1: a balanced pole is truncated at exactly 500 steps", () => {
  const instance = new GameInstance(definition, { seedLow: 3 });
  instance.start(0);
  const observation = instance.views[0] as Float32Array;
  while (!instance.episodeOver) {
    const [position, velocity, angle, spin] = observation;
    instance.step(angle + 0.5 * spin + 0.05 * position + 0.1 * velocity > 0 ? 1 : 0);
  }
  expect([instance.episodeSteps, instance.endReason, instance.episodeReturns[0]]).toEqual([
    500,
    "time_limit",
    500,
  ]);
  expect(instance.episodeTicks).toBe(500);
});
