/** Memory conforms; its lamp is seen in one step only, and only the answer to the question pays. */

import { expect, test } from "vitest";
import definition, { type Memory } from "../../../web/games/memory/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { describeConformance } from "./conformance.ts";

describeConformance(definition, { maxMicrosecondsPerTick: 20 });

interface Sight {
  lamps: Float32Array;
  question: Float32Array;
}

/** Plays one episode; what was seen before each step as [left, right, question], and the rewards. */
function play(instance: GameInstance, choose: (step: number) => number) {
  const seen: number[][] = [];
  const rewards: number[] = [];
  while (!instance.episodeOver) {
    const { lamps, question } = instance.views[0] as unknown as Sight;
    seen.push([...lamps, ...question]);
    instance.step(choose(rewards.length));
    rewards.push(instance.rewards[0]);
  }
  return { seen, rewards };
}

test("the lamp is seen before the first step, the question `delay` steps later, and nothing in between", () => {
  const instance = new GameInstance(definition, { seedLow: 1 });
  for (const [delay, parameters] of [
    [40, undefined],
    [1, { delay: 1 }],
    [7, { delay: 7 }],
  ] as const) {
    instance.start(0, parameters);
    const { side } = instance.game as Memory;
    const { seen } = play(instance, () => 0);
    expect(seen).toHaveLength(delay + 1);
    expect(seen[0]).toEqual([1 - side, side, 0]);
    for (let step = 1; step < delay; step++) expect(seen[step]).toEqual([0, 0, 0]);
    expect(seen[delay]).toEqual([0, 0, 1]);
    expect(instance.endReason).toBe("terminated");
  }
});

test("only the answer given at the question counts", () => {
  const instance = new GameInstance(definition, { seedLow: 2 });
  for (let episode = 0; episode < 20; episode++) {
    instance.start(episode);
    const { side } = instance.game as Memory;
    const isRight = episode % 2 === 0;
    // Before the question the opposite of the answer is held.
    const answer = isRight ? side : 1 - side;
    const { rewards } = play(instance, (step) => (step === 40 ? answer : 1 - answer));
    expect(rewards.slice(0, -1).every((reward) => reward === 0)).toBe(true);
    expect(rewards[40]).toBe(isRight ? 1 : 0);
    expect(instance.totals.metricValues[0]).toBe(isRight ? 1 : 0);
  }
});

test("both sides come up alike", () => {
  const instance = new GameInstance(definition, { seedLow: 3 });
  let right = 0;
  for (let episode = 0; episode < 10_000; episode++) {
    instance.start(episode);
    right += (instance.game as Memory).side;
  }
  // 5,000 expected, deviation 50.
  expect(Math.abs(right - 5000)).toBeLessThan(250);
});
