/** Pendulum conforms; its dynamics are checked against Gymnasium in tests/contract. */

import { expect, test } from "vitest";
import definition, { type Pendulum } from "../../../web/games/pendulum/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { describeConformance } from "./conformance.ts";

describeConformance(definition, { maxMicrosecondsPerTick: 20 });

test("starts are uniform in a full turn and in plus or minus one radian a second", () => {
  const instance = new GameInstance(definition, { seedLow: 9 });
  const sums = [0, 0];
  const count = 20_000;
  for (let episode = 0; episode < count; episode++) {
    instance.start(episode);
    (instance.game as Pendulum).state.forEach((value, i) => {
      expect(Math.abs(value)).toBeLessThanOrEqual([Math.PI, 1][i]);
      sums[i] += value * value;
    });
  }
  // The variance of a uniform of width 2 a is a^2 / 3; its estimate deviates by 0.9 / sqrt(20,000) = 0.6 %.
  expect(sums[0] / count / (Math.PI ** 2 / 3)).toBeCloseTo(1, 1);
  expect(sums[1] / count / (1 / 3)).toBeCloseTo(1, 1);
});

test("hanging still costs pi squared a step and an upright rod nothing", () => {
  const instance = new GameInstance(definition, { seedLow: 3 });
  instance.start(0);
  const { state } = instance.game as Pendulum;
  for (const [angle, reward] of [
    [Math.PI, -(Math.PI ** 2)],
    [0, 0],
    [2 * Math.PI, 0],
    [-3 * Math.PI, -(Math.PI ** 2)],
  ]) {
    state.set([angle, 0]);
    instance.step([0]);
    expect(instance.rewards[0]).toBeCloseTo(reward, 12);
  }
});

test("E1: it is truncated at exactly 200 steps", () => {
  const instance = new GameInstance(definition, { seedLow: 4 });
  instance.start(0);
  while (!instance.episodeOver) instance.step([0.5]);
  expect([instance.episodeSteps, instance.endReason]).toEqual([200, "time_limit"]);
});
