/** Lander conforms, can be landed, and pays what its README says; its flight is checked against Gymnasium's in tests/contract. */

import { expect, test } from "vitest";
import definition from "../../../web/games/lander/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { describeConformance } from "./conformance.ts";

describeConformance(definition, { maxMicrosecondsPerTick: 400 });

const [NOTHING, LEFT, MAIN, RIGHT] = [0, 1, 2, 3];

/** A hand-made pilot: leans against the drift and keeps the fall slow. */
function pilot([x, height, velocityX, velocityY, angle, spin, left, right]: Float32Array): number {
  const isStanding = left + right > 0;
  const wantedAngle = Math.max(-0.4, Math.min(0.4, 0.5 * x + velocityX));
  const turn = isStanding ? 0 : 0.5 * (wantedAngle - angle) - spin;
  const lift = isStanding ? -0.5 * velocityY : 0.5 * (0.55 * Math.abs(x) - height) - 0.5 * velocityY;
  if (lift > Math.abs(turn) && lift > 0.05) return MAIN;
  if (turn < -0.05) return RIGHT;
  return turn > 0.05 ? LEFT : NOTHING;
}

function fly(choose: (observation: Float32Array) => number, episodes: number) {
  const instance = new GameInstance(definition, { seedLow: 11 });
  let returns = 0;
  let landed = 0;
  for (let episode = 0; episode < episodes; episode++) {
    instance.start(episode);
    while (!instance.episodeOver) instance.step(choose(instance.views[0] as Float32Array));
    returns += instance.episodeReturns[0] / episodes;
    landed += instance.totals.metricValues[0];
  }
  return { returns, landed, instance };
}

test("a careful pilot lands nearly always, for more than 200", () => {
  const { returns, landed } = fly(pilot, 40);
  expect(landed).toBeGreaterThanOrEqual(34);
  expect(returns).toBeGreaterThan(200);
});

test("falling is a crash, worth -100 and what the approach lost", () => {
  const { landed, instance } = fly(() => NOTHING, 20);
  expect(landed).toBe(0);
  const [approach, mainFuel, sideFuel, outcome] = instance.totals.termSums;
  expect([mainFuel, sideFuel, outcome]).toEqual([0, 0, -1]);
  expect(instance.episodeReturns[0]).toBeCloseTo(approach - 100, 6);
});

test("fuel costs 0.3 per tick of the main engine and 0.03 of a side engine", () => {
  const instance = new GameInstance(definition, { seedLow: 12 });
  for (const [action, cost] of [
    [NOTHING, 0],
    [LEFT, 0.03],
    [MAIN, 0.3],
    [RIGHT, 0.03],
  ]) {
    instance.start(0);
    instance.step(action);
    expect(instance.executedTicks).toBe(1);
    expect(instance.rewards[0]).toBeCloseTo(instance.totals.termSums[0] - cost, 9);
  }
});

test("the engines push where they should", () => {
  const after = (action: number) => {
    const instance = new GameInstance(definition, { seedLow: 13 });
    instance.start(0);
    for (let step = 0; step < 10; step++) instance.step(action);
    const [, , velocityX, velocityY, angle] = instance.views[0] as Float32Array;
    return { velocityX, velocityY, angle };
  };
  const idle = after(NOTHING);
  expect(after(MAIN).velocityY).toBeGreaterThan(idle.velocityY);
  expect(after(LEFT).velocityX).toBeLessThan(idle.velocityX);
  expect(after(RIGHT).velocityX).toBeGreaterThan(idle.velocityX);
  // Pushed left above its middle, the craft turns anticlockwise.
  expect(after(LEFT).angle).toBeGreaterThan(0.01);
  expect(after(RIGHT).angle).toBeLessThan(-0.01);
});

test("E1: hovering is truncated after 1,000 steps", () => {
  const hover = (observation: Float32Array): number => {
    const target = observation.slice();
    // Pretends that the pad lies higher than it does.
    target[1] -= 0.6;
    return pilot(target);
  };
  const { instance } = fly(hover, 1);
  expect([instance.endReason, instance.episodeSteps, instance.episodeTicks]).toEqual([
    "time_limit",
    1000,
    1000,
  ]);
});

test("an episode is the same after a thousand others, and they leave no world behind", () => {
  const fresh = new GameInstance(definition, { seedLow: 14 });
  const used = new GameInstance(definition, { seedLow: 14 });
  for (let episode = 0; episode < 1000; episode++) {
    used.start(episode);
    for (let step = 0; step < 5; step++) used.step(step % 4);
  }
  fresh.start(5000);
  used.start(5000);
  while (!fresh.episodeOver) {
    const action = pilot(fresh.views[0] as Float32Array);
    fresh.step(action);
    used.step(action);
    expect(used.views[0]).toEqual(fresh.views[0]);
  }
  expect(used.episodeReturns[0]).toBe(fresh.episodeReturns[0]);
});
