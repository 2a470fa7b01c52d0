import { expect, test } from "vitest";
import { checkGame } from "../../../web/check/src/check.ts";
import type { Finding } from "../../../web/check/src/check-finding.ts";
import { RewardWatch } from "../../../web/check/src/reward-check.ts";
import type { Game } from "../../../web/sdk/src/contract.ts";
import { defineGame } from "../../../web/sdk/src/define-game.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";
import type { PageAdapter } from "../../../web/sdk/src/page-adapter.ts";
import { box, discrete } from "../../../web/sdk/src/spaces.ts";
import { countingGame } from "../sdk/counting-game.ts";

/** What is said of episodes whose steps are rewarded so, each episode a list. */
function said(episodes: readonly (readonly number[])[], page?: Partial<PageAdapter>): string[] {
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
  const watch = new RewardWatch({ ...definition, page: page as PageAdapter | undefined });
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

test("a game of one step whose choices differ is a bandit, and rewards of any one size can be learned from", async () => {
  let ticks = 0;
  const updates: Game["update"][] = [
    (_deltaTime, action) => ({ observation: [0, 0], reward: Number(action === 1), terminated: true }),
    (_deltaTime, action) => {
      ticks++;
      return { observation: [0, 0], reward: action === 0 ? 1e20 : 3e20, terminated: ticks % 5 === 0 };
    },
  ];
  for (const update of updates) {
    const game = defineGame({
      id: "Paid-v1",
      tickSeconds: 0.1,
      maxSeconds: 100,
      observation: box({ shape: [2], low: -1, high: 1 }),
      action: discrete(["left", "right"]),
      create: () => ({ start: () => [0, 0], update }),
    });
    const { findings } = await checkGame(game, { steps: 2_000, now: () => 0 });
    expect(findings.length).toBeGreaterThan(0); // nothing is drawn
    expect(findings.filter(({ id }) => /over-at-once|reward-size/.test(id))).toEqual([]);
  }
});

test("rewards are too large where one dwarfs all others", () => {
  expect(said([[1e20, 2e20]])).toEqual([]);
  // Geometric mean of 1, 1, 1 and 1e16: 1e4.
  expect(said([[1, 1, 1, 1e16]])).toEqual(["error reward-size"]);
  expect(said([[1, 1, 1, 1e4]])).toEqual([]);
  // Small ones are no fault of the largest: a speed that dies away.
  expect(said([[1e-16, 1e-12, 1]])).toEqual([]);
});

test("a score that is gone in an episode's last step is named", () => {
  // 2 - 2, 5 - 5, and nothing to lose: a reset score.
  const lost = ["error score-lost-at-end"];
  expect(
    said([
      [1, 1, -2],
      [0, 0],
      [5, 0, -5],
    ]),
  ).toEqual(lost);
  // Hidden: it began at 3 and reads 0.
  expect(
    said([
      [1, -4],
      [1, 1, -5],
      [0, -3],
    ]),
  ).toEqual(lost);
  // In the sums of other fractions.
  expect(
    said([
      [0.1, 0.2, -0.3],
      [0.1, 0.1, 0.1, 0.7, -1],
      [0.3, -0.3],
    ]),
  ).toEqual(lost);
});

test("a page's score that falls in one step by more than it rises in any is named, and one that ends so is not", () => {
  const score = { score: () => 0 };
  expect(said([[250, 250, 250, -749, 0.25, 0]], score)).toEqual(["warning score-falls"]);
  expect(said([[250, 250, -200, 0]], score)).toEqual([]);
  expect(said([[0, -5, 0]], score)).toEqual([]);
  expect(said([[250, 250, 250, -749]], score)).toEqual([]);
  expect(said([[250, 250, 250, -749, 0.25, 0]])).toEqual([]);
});

test("a score that is gone in an episode's last step is named beside what each step earns", () => {
  // A 64th for each step alive; the last step is cut short.
  const alive = (rewards: readonly number[]): number[] =>
    rewards.map((one, i) => one + (i < rewards.length - 1 ? 1 / 64 : 1 / 128));
  const lost = ["error score-lost-at-end"];
  expect(
    said(
      [
        [1, 0, 1, -2],
        [0, 0, 0, 0, 0, 0],
        [5, 0, 0, 0, -5],
      ].map(alive),
    ),
  ).toEqual(lost);
  // Places reached first earn a little more, and are kept.
  expect(
    said(
      [
        [1, 1 / 32, 1, -2],
        [0, 0, 1 / 16, 0, 0],
        [5, 0, 0, 0, -5],
      ].map(alive),
    ),
  ).toEqual(lost);
  // What stays, what costs the same each time, and time alone.
  expect(
    said(
      [
        [1, 0, 1, 0],
        [0, 0, 0, 0, 0, 0],
        [5, 0, 0, 0, 0],
      ].map(alive),
    ),
  ).toEqual([]);
  expect(
    said(
      [
        [1, 0, 1, -2],
        [0, 0, 0, 0, 0, -2],
        [5, 0, 0, 0, -2],
      ].map(alive),
    ),
  ).toEqual([]);
  expect(
    said(
      [
        [0, 0, 0, 0],
        [0, 0],
        [0, 0, 0, 0, 0, 0],
      ].map(alive),
    ),
  ).toEqual([]);
  // What each step earns is all of the score: it is gone as well.
  expect(
    said([
      [1, 1, -2],
      [1, 1, 1, 1, -4],
      [1, -1],
    ]),
  ).toEqual(lost);
});

test("a loss that costs the same each time, or one that is a score's own fall, is none", () => {
  expect(
    said([
      [1, 1, -2],
      [0, -2],
      [5, 0, -2],
    ]),
  ).toEqual([]);
  // Too few to tell, and all alike: 1 and -1 may be the price of a loss.
  expect(
    said([
      [1, 1, -2],
      [5, -5],
    ]),
  ).toEqual([]);
  expect(
    said([
      [1, -1],
      [1, -1],
      [1, -1],
    ]),
  ).toEqual([]);
  // Not the last step alone: a score that falls on its way.
  expect(
    said([
      [1, -1, 0],
      [3, -3, 0],
      [5, -5, 0],
    ]),
  ).toEqual([]);
  // A goal that is always worth the same in all.
  expect(
    said([
      [1, 2],
      [2, 1],
      [0, 3],
    ]),
  ).toEqual([]);
});
