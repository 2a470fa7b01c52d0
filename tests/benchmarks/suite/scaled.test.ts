/** A scaled game plays as its own does, and pays so many times as much. */

import { expect, test } from "vitest";
import duel from "../../../benchmarks/suite/duel.ts";
import jumper from "../../../benchmarks/suite/jumper.ts";
import { scaled } from "../../../benchmarks/suite/scaled.ts";
import type { GameDefinition } from "../../../web/sdk/src/contract.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";
import { drawActions, RandomPlayer } from "../../../web/sdk/src/random-play.ts";
import { countingGame } from "../../web/sdk/counting-game.ts";

const coins = countingGame({
  rewardTerms: { coin: 5 },
  tickResult: (tick) => ({ reward: undefined, rewardTerms: { coin: tick % 3 } }),
});

/** Observations and rewards of 300 random steps. */
function play(definition: GameDefinition) {
  const instance = createInstance(definition, { seedLow: 3 });
  const player = new RandomPlayer(definition.action, 4);
  const seen: number[] = [];
  const rewards: number[] = [];
  let episode = 0;
  instance.start(episode);
  for (let step = 0; step < 300; step++) {
    instance.step(drawActions(instance, player) as never);
    for (const view of instance.views) seen.push(...(view as Float32Array));
    rewards.push(...instance.rewards);
    if (instance.episodeOver) instance.start(++episode);
  }
  return { seen, rewards };
}

test.each([
  ["one agent", jumper],
  ["several agents", duel],
  ["reward terms", coins],
])("the same is seen and 1,000 times as much is paid: %s", (_, definition) => {
  const plain = play(definition);
  const larger = play(scaled(definition, 1000));
  expect(larger.seen).toEqual(plain.seen);
  expect(plain.rewards.some((reward) => reward !== 0)).toBe(true);
  larger.rewards.forEach((reward, i) => {
    expect(reward).toBeCloseTo(1000 * plain.rewards[i], 6);
  });
});

test("it is drawn if the game is", () => {
  expect(scaled(jumper, 2).create().draw).toBeTypeOf("function");
  expect(scaled(coins, 2).create().draw).toBeUndefined();
});
