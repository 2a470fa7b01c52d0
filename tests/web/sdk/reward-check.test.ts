import { expect, test } from "vitest";
import type { Finding } from "../../../web/sdk/src/check-finding.ts";
import type { Game } from "../../../web/sdk/src/contract.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";
import { RewardWatch } from "../../../web/sdk/src/reward-check.ts";
import { countingGame } from "./counting-game.ts";

/** What is said of episodes whose steps are rewarded so, each episode a list. */
function said(episodes: readonly (readonly number[])[]): string[] {
  const findings: string[] = [];
  let rewards: readonly number[] = [];
  let step = 0;
  const definition = {
    ...countingGame(),
    create: (): Game => ({
      start: () => [0, 0],
      update: () => ({ observation: [0, 0], reward: rewards[step], terminated: ++step === rewards.length }),
    }),
  };
  const watch = new RewardWatch(definition);
  const instance = createInstance(definition);
  for (const [episode, given] of episodes.entries()) {
    [rewards, step] = [given, 0];
    instance.start(episode);
    while (!instance.episodeOver) {
      instance.step(0);
      watch.look(instance);
    }
  }
  watch.report(
    ({ id, severity }: Pick<Finding, "id" | "severity">) => findings.push(`${severity} ${id}`),
    instance,
  );
  return findings;
}

test("episodes of one step are named from three on, where they are three of four at least and worth the same", () => {
  expect(said([[0], [0], [0]])).toEqual(["error over-at-once"]);
  expect(said([[0], [0]])).toEqual([]);
  expect(said([[1, 0], [0], [0], [0]])).toEqual(["error over-at-once"]);
  expect(said([[1, 0], [1, 0], [0], [0], [0]])).toEqual([]);
  // A bandit's.
  expect(said([[0], [1], [0]])).toEqual([]);
});

test("rewards are too large where one dwarfs all others", () => {
  expect(said([[1e20, 2e20]])).toEqual([]);
  // Geometric mean of 1, 1, 1 and 1e16: 1e4.
  expect(said([[1, 1, 1, 1e16]])).toEqual(["error reward-size"]);
  expect(said([[1, 1, 1, 1e4]])).toEqual([]);
  // Small ones are no fault of the largest: a speed that dies away.
  expect(said([[1e-16, 1e-12, 1]])).toEqual([]);
});
