/** Several agents in one game: who takes part, who ends, who comes back (rule E9). */

import { describe, expect, test } from "vitest";
import type { Game, GameOptions, UpdateResult } from "../../../web/sdk/src/contract.ts";
import { defineGame } from "../../../web/sdk/src/define-game.ts";
import { createInstance, type GroupInstance } from "../../../web/sdk/src/group-instance.ts";
import { box, discrete } from "../../../web/sdk/src/spaces.ts";

/** Three agents; `ticks[t]` is what tick t + 1 returns beside the observation [100 * agent + tick] and the reward agent + 1. */
function trio(ticks: Partial<UpdateResult>[], options: Partial<GameOptions> = {}): GroupInstance {
  let tick = 0;
  const game: Game = {
    start: () => {
      tick = 0;
      return { observation: [[0], [100], [200]] };
    },
    update: () => {
      tick++;
      const observation = [[tick], [100 + tick], [200 + tick]];
      return { observation, reward: [1, 2, 3], ...ticks[tick - 1] };
    },
  };
  const definition = defineGame({
    id: "Trio-v1",
    tickSeconds: 0.1,
    numAgents: 3,
    observation: box({ shape: [1] }),
    action: discrete(2),
    create: () => game,
    ...options,
  });
  return createInstance(definition) as GroupInstance;
}

function stateOf(instance: GroupInstance) {
  return {
    rewards: [...instance.rewards],
    terminated: [...instance.terminated],
    valid: [...instance.valid],
    active: [...instance.active],
  };
}

describe("E9: agents end and come back", () => {
  test("E9: an ended agent's steps are invalid, without reward, until it is active again", () => {
    const instance = trio([{ terminated: [false, true, false] }, {}, { active: [true, true, true] }, {}]);
    instance.start(0);
    expect([...instance.active]).toEqual([1, 1, 1]);
    instance.step([0, 0, 0]);
    expect(stateOf(instance)).toEqual({
      rewards: [1, 2, 3],
      terminated: [0, 1, 0],
      valid: [1, 1, 1],
      active: [1, 0, 1],
    });
    instance.step([0, 0, 0]);
    expect(stateOf(instance)).toEqual({
      rewards: [1, 0, 3],
      terminated: [0, 0, 0],
      valid: [1, 0, 1],
      active: [1, 0, 1],
    });
    // Active again: takes part from the next step on.
    instance.step([0, 0, 0]);
    expect(stateOf(instance)).toEqual({
      rewards: [1, 0, 3],
      terminated: [0, 0, 0],
      valid: [1, 0, 1],
      active: [1, 1, 1],
    });
    instance.step([0, 0, 0]);
    expect(stateOf(instance)).toEqual({
      rewards: [1, 2, 3],
      terminated: [0, 0, 0],
      valid: [1, 1, 1],
      active: [1, 1, 1],
    });
    expect([...instance.episodeReturns]).toEqual([4, 4, 12]);
  });

  test("E9: within a step, rewards after an agent's end do not count", () => {
    const instance = trio([{}, { terminated: [true, false, false] }, {}], { secondsPerStep: 0.3 });
    instance.start(0);
    instance.step([0, 0, 0]);
    expect([...instance.rewards]).toEqual([2, 6, 9]);
    expect([...instance.terminated]).toEqual([1, 0, 0]);
    expect(instance.executedTicks).toBe(3);
  });

  test("E9: the game is over when all agents have ended", () => {
    const instance = trio([{ terminated: [true, false, true] }, { terminated: [false, true, false] }]);
    instance.start(0);
    instance.step([0, 0, 0]);
    expect(instance.episodeOver).toBe(false);
    instance.step([0, 0, 0]);
    expect([instance.episodeOver, instance.endReason]).toEqual([true, "terminated"]);
    expect([...instance.terminated]).toEqual([0, 1, 0]);
  });

  test("E9: or when it ends itself, for whoever still plays", () => {
    for (const [end, field] of [
      [{ terminated: true }, "terminated"],
      [{ done: true }, "terminated"],
      [{ truncated: true }, "truncated"],
    ] as const) {
      const instance = trio([{ terminated: [false, true, false] }, end]);
      instance.start(0);
      instance.step([0, 0, 0]);
      instance.step([0, 0, 0]);
      expect(instance.episodeOver).toBe(true);
      expect([...instance[field]]).toEqual([1, 0, 1]);
    }
  });

  test("E1: the time limit truncates those who still play", () => {
    const instance = trio([{ terminated: [false, false, true] }, {}], { maxSeconds: 0.2 });
    instance.start(0);
    instance.step([0, 0, 0]);
    instance.step([0, 0, 0]);
    expect(instance.endReason).toBe("time_limit");
    expect([[...instance.truncated], [...instance.terminated]]).toEqual([
      [1, 1, 0],
      [0, 0, 0],
    ]);
  });
});

test("every agent has its own view", () => {
  const instance = trio([{}]);
  instance.start(0);
  instance.step([0, 0, 0]);
  expect(instance.views.map((view) => [...(view as Float32Array)])).toEqual([[1], [101], [201]]);
});

test("reward terms per agent", () => {
  const rewardTerms: Record<string, number>[] = [{ hit: 1 }, { hit: 2 }, {}];
  const instance = trio([{ reward: undefined, rewardTerms }], { rewardTerms: { hit: 10 } });
  instance.start(0);
  instance.step([0, 0, 0]);
  expect([...instance.rewards]).toEqual([10, 20, 0]);
  expect([...instance.totals.termSums]).toEqual([3]);
});

describe("errors name agent and field", () => {
  const cases: [Partial<UpdateResult>, string][] = [
    [{ reward: [1, 2] }, "reward with 2 entries, expected an array of 3, one entry per agent"],
    [{ reward: 1 }, "reward with 1, expected an array of 3"],
    [{ reward: [1, Number.NaN, 2] }, "reward[1] = NaN"],
    [{ observation: [[1], [2, 3], [4]] }, "observation[1] with 2 numbers, expected 1"],
    [{ observation: [[1], [2], [Number.NaN]] }, "observation[2][0] = NaN"],
    [{ terminated: [true, 1, false] as never }, "terminated[1] = 1, expected true or false"],
    [{ active: [true] }, "active with 1 entries"],
  ];
  for (const [result, text] of cases) {
    test(text, () => {
      const instance = trio([result]);
      instance.start(0);
      expect(() => instance.step([0, 0, 0])).toThrow(text);
    });
  }
});
