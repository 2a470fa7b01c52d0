/** One instance: ticks and steps, episode ends, totals, and readable errors for every way to break the contract. */

import { describe, expect, test } from "vitest";
import type { GameErrorKind } from "../../../web/sdk/src/errors.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { box, dict, discrete, multiDiscrete } from "../../../web/sdk/src/spaces.ts";
import { type CountingGame, countingGame } from "./counting-game.ts";

function observationOf(instance: GameInstance): number[] {
  return [...(instance.views[0] as Float32Array)];
}

describe("ticks and steps", () => {
  test("T1: a step is secondsPerStep / tickSeconds ticks of tickSeconds each", () => {
    // 0.3 / 0.1 is 2.9999999999999996 in floats, three ticks all the same.
    const instance = new GameInstance(countingGame({ secondsPerStep: 0.3 }));
    instance.start(0);
    instance.step(1);
    expect(instance.executedTicks).toBe(3);
    expect((instance.game as CountingGame).deltaTimes).toEqual([0.1, 0.1, 0.1]);
  });

  test("T2: the reward is the sum over the executed ticks, in float64", () => {
    const instance = new GameInstance(countingGame({ secondsPerStep: 0.4 }));
    instance.start(0);
    instance.step(0);
    expect(instance.rewards[0]).toBe((1 + 2 + 3 + 4) / 16);
    instance.step(0);
    expect(instance.rewards[0]).toBe((5 + 6 + 7 + 8) / 16);
    expect(instance.episodeReturns[0]).toBe(36 / 16);
    const tiny = new GameInstance(
      countingGame({ secondsPerStep: 0.2, tickResult: (t) => ({ reward: t === 1 ? 1 : 1e-12 }) }),
    );
    tiny.start(0);
    tiny.step(0);
    expect(tiny.rewards[0]).toBe(1 + 1e-12);
  });

  test("T2: the step stops at the tick that ends the episode and keeps how many were executed", () => {
    const ends = { terminated: { terminated: true }, done: { done: true }, truncated: { truncated: true } };
    for (const [name, flags] of Object.entries(ends)) {
      const game = countingGame({ secondsPerStep: 0.4, tickResult: (tick) => (tick === 6 ? flags : {}) });
      const instance = new GameInstance(game);
      instance.start(0);
      instance.step(0);
      expect([instance.executedTicks, instance.episodeOver]).toEqual([4, false]);
      instance.step(0);
      expect([instance.executedTicks, instance.episodeOver, instance.episodeTicks]).toEqual([2, true, 6]);
      expect(instance.rewards[0]).toBe((5 + 6) / 16);
      expect(observationOf(instance)[0]).toBe(6);
      expect(instance.endReason).toBe(name === "truncated" ? "game_truncated" : "terminated");
    }
  });

  test("T3: the action is held for the whole step, from start on", () => {
    const instance = new GameInstance(countingGame({ secondsPerStep: 0.2 }));
    instance.start(0);
    for (const action of [2, 0, 1]) instance.step(action);
    expect((instance.game as CountingGame).actions).toEqual([2, 2, 0, 0, 1, 1]);
  });
});

describe("episode ends", () => {
  test("E1: the time limit truncates at exactly max_steps", () => {
    const instance = new GameInstance(countingGame({ secondsPerStep: 0.2, maxSeconds: 1 }));
    instance.start(0);
    for (let step = 1; step <= 5; step++) {
      instance.step(0);
      expect(instance.episodeOver).toBe(step === 5);
    }
    expect([instance.terminated[0], instance.truncated[0], instance.endReason]).toEqual([0, 1, "time_limit"]);
  });

  test("E1: terminated wins over truncated, by the game and by the time limit", () => {
    for (const flags of [{ terminated: true, truncated: true }, { terminated: true }]) {
      const instance = new GameInstance(countingGame({ maxSeconds: 0.1, tickResult: () => flags }));
      instance.start(0);
      instance.step(0);
      expect([instance.terminated[0], instance.truncated[0], instance.endReason]).toEqual([
        1,
        0,
        "terminated",
      ]);
    }
  });

  test("the final observation stays in the view until start is called", () => {
    const instance = new GameInstance(countingGame({ tickResult: (tick) => ({ terminated: tick === 2 }) }));
    instance.start(0);
    instance.step(1);
    instance.step(2);
    expect(observationOf(instance)).toEqual([2, 2]);
    instance.start(1);
    expect(observationOf(instance)).toEqual([1000, 0]);
    expect([
      instance.episodeOver,
      instance.terminated[0],
      instance.episodeSteps,
      instance.episodeReturns[0],
    ]).toEqual([false, 0, 0, 0]);
  });

  test("a step before start or after the end is the caller's error", () => {
    const instance = new GameInstance(countingGame({ maxSeconds: 0.1 }));
    expect(() => instance.step(0)).toThrow("call start() first");
    instance.start(0);
    instance.step(0);
    expect(() => instance.step(0)).toThrow("call start() first");
  });
});

describe("totals", () => {
  test("metrics are reduced per episode, reward terms are weighted and summed", () => {
    const definition = countingGame({
      secondsPerStep: 0.2,
      maxSeconds: 0.4,
      metrics: { a: "last", b: "sum", c: "mean", d: "max", never: "last" },
      rewardTerms: { up: 2, down: -0.5, unused: 7 },
      // Ticks 1, 2, 3, 4; `e` is no metric and must be let through.
      tickResult: (t) => ({
        reward: undefined,
        rewardTerms: { up: t, down: 1 },
        info: { a: t, b: t, c: t, d: -t, e: t },
      }),
    });
    const instance = new GameInstance(definition);
    for (const episode of [0, 1]) {
      instance.start(episode);
      instance.step(0);
      // 2 * (1 + 2) - 0.5 * 2
      expect(instance.rewards[0]).toBe(5);
      instance.step(0);
      expect([...instance.totals.metricValues]).toEqual([4, 10, 2.5, -1, Number.NaN]);
      expect([...instance.totals.termSums]).toEqual([10, 4, 0]);
      // 2 * 10 - 0.5 * 4
      expect(instance.episodeReturns[0]).toBe(18);
    }
  });

  test("an explicit reward stands beside charted terms", () => {
    const instance = new GameInstance(
      countingGame({ rewardTerms: { up: 2 }, tickResult: () => ({ reward: 5, rewardTerms: { up: 3 } }) }),
    );
    instance.start(0);
    instance.step(0);
    expect([instance.rewards[0], instance.totals.termSums[0]]).toEqual([5, 3]);
  });
});

describe("what a game is given and may return", () => {
  test("C5: an episode's stream depends on seed, episode and instance, and on nothing played before", () => {
    const draws = (seed: number, instanceId: number, episode: number, before: number[]): number => {
      const instance = new GameInstance(countingGame({ start: ({ random }) => [random(), random()] }), {
        seedLow: seed,
        instanceId,
      });
      for (const other of before) instance.start(other);
      instance.start(episode);
      return observationOf(instance)[0];
    };
    expect(draws(1, 2, 3, [])).toBe(draws(1, 2, 3, [7, 8]));
    expect(
      new Set([draws(1, 2, 3, []), draws(4, 2, 3, []), draws(1, 4, 3, []), draws(1, 2, 4, [])]).size,
    ).toBe(4);
  });

  test("parameters: defaults, overrides for one episode, and refusals", () => {
    const seen: number[] = [];
    const instance = new GameInstance(
      countingGame({
        parameters: { size: { default: 10, low: 6, high: 20 } },
        start: ({ parameters }) => {
          seen.push(parameters.size);
          return [0, 0];
        },
      }),
    );
    instance.start(0);
    instance.start(1, { size: 6 });
    instance.start(2);
    expect(seen).toEqual([10, 6, 10]);
    expect(() => instance.start(3, { size: 21 })).toThrow('"size" = 21');
    expect(() => instance.start(3, { speed: 1 })).toThrow('"speed"');
  });

  test("views of the batch are filled in place, and only they", () => {
    const batch = new Float32Array(6).fill(-7);
    const instance = new GameInstance(countingGame(), { views: [batch.subarray(2, 4)] });
    instance.start(0);
    instance.step(2);
    expect([...batch]).toEqual([-7, -7, 1, 2, -7, -7]);
  });

  test("a bare array, an object and nested dicts are all observations", () => {
    const returned = new GameInstance(
      countingGame({ start: () => [3, 4], tickResult: () => ({ observation: [5, 6] }) }),
    );
    returned.start(0);
    expect(observationOf(returned)).toEqual([3, 4]);
    returned.step(0);
    expect(observationOf(returned)).toEqual([5, 6]);
    const wrapped = new GameInstance(
      countingGame({ start: () => ({ observation: new Float32Array([8, 9]) }) }),
    );
    wrapped.start(0);
    expect(observationOf(wrapped)).toEqual([8, 9]);
    const observation = dict({ near: box({ shape: [2] }), image: box({ shape: [3], dtype: "uint8" }) });
    const nested = new GameInstance(
      countingGame({ observation, start: () => ({ near: [1, 2], image: [0, 255, 7] }) }),
    );
    nested.start(0);
    expect(nested.views[0]).toEqual({ near: new Float32Array([1, 2]), image: new Uint8Array([0, 255, 7]) });
  });

  test("an action mask is all ones at start and the game's own afterwards", () => {
    const instance = new GameInstance(
      countingGame({
        actionMask: true,
        start: ({ out }) => {
          expect([...out.actionMask!]).toEqual([1, 1, 1]);
          out.actionMask![1] = 0;
          return [0, 0];
        },
      }),
    );
    instance.start(0);
    expect([...instance.masks[0]]).toEqual([1, 0, 1]);
    instance.start(1);
    expect([...instance.masks[0]]).toEqual([1, 0, 1]);
  });
});

describe("errors name method and field, what came and what is right", () => {
  const cases: [string, Parameters<typeof countingGame>[0], GameErrorKind, string, string][] = [
    [
      "an exception",
      {
        tickResult: () => {
          throw new TypeError("no such sprite");
        },
      },
      "throw",
      "update",
      "update() threw: TypeError: no such sprite",
    ],
    [
      "a thrown string",
      {
        tickResult: () => {
          throw "oops";
        },
      },
      "throw",
      "update",
      'update() threw: "oops"',
    ],
    [
      "an exception in start",
      {
        start: () => {
          throw new Error("late");
        },
      },
      "throw",
      "start",
      "start() threw: late",
    ],
    [
      "a wrong length",
      { tickResult: () => ({ observation: [1, 2, 3] }) },
      "shape",
      "update",
      "observation with 3 numbers, expected 2 numbers (shape [2])",
    ],
    [
      "a wrong length in start",
      { start: () => [1] },
      "shape",
      "start",
      "observation with 1 numbers, expected 2",
    ],
    [
      "no array",
      { tickResult: () => ({ observation: 7 }) },
      "shape",
      "update",
      "observation with 7, expected 2 numbers",
    ],
    [
      "a string within",
      { tickResult: () => ({ observation: [1, "2"] }) },
      "shape",
      "update",
      'observation[1] = "2", expected a number',
    ],
    [
      "a NaN observation",
      { tickResult: () => ({ observation: [1, Number.NaN] }) },
      "nan",
      "update",
      "observation[1] = NaN, expected a finite number",
    ],
    [
      "an infinite observation",
      { tickResult: () => ({ observation: [-Infinity, 1] }) },
      "nan",
      "update",
      "observation[0] = -Infinity",
    ],
    [
      "a start that fills nothing",
      { start: () => undefined },
      "nan",
      "start",
      "return an observation or fill all of out.observation",
    ],
    [
      "a NaN reward",
      { tickResult: () => ({ reward: Number.NaN }) },
      "nan",
      "update",
      "reward = NaN, expected a finite number",
    ],
    [
      "no reward",
      { tickResult: () => ({ reward: undefined }) },
      "missing",
      "update",
      "reward = undefined, expected a number",
    ],
    [
      "a reward in words",
      { tickResult: () => ({ reward: "1" }) },
      "shape",
      "update",
      'reward = "1", expected a number',
    ],
    [
      "a flag that is a number",
      { tickResult: () => ({ terminated: 1 }) },
      "flag",
      "update",
      "terminated = 1, expected true or false",
    ],
    [
      "done in words",
      { tickResult: () => ({ done: "yes" }) },
      "flag",
      "update",
      'done = "yes", expected true or false',
    ],
    [
      "truncated null",
      { tickResult: () => ({ truncated: null }) },
      "flag",
      "update",
      "truncated = null, expected true or false",
    ],
    [
      "a promise",
      { tickResult: () => Promise.resolve({ reward: 1 }) },
      "promise",
      "update",
      "update() returned a promise",
    ],
    [
      "a promise from start",
      { start: (async () => [1, 2]) as never },
      "promise",
      "start",
      "start() returned a promise",
    ],
    [
      "nothing",
      { tickResult: () => undefined },
      "missing",
      "update",
      "update() returned undefined, expected an object",
    ],
    [
      "a NaN metric",
      { metrics: { a: "sum" }, tickResult: () => ({ info: { a: Number.NaN } }) },
      "nan",
      "update",
      "info.a = NaN",
    ],
    [
      "a NaN term",
      { rewardTerms: { a: 1 }, tickResult: () => ({ rewardTerms: { a: Number.NaN } }) },
      "nan",
      "update",
      "rewardTerms.a = NaN",
    ],
  ];
  for (const [name, options, kind, method, text] of cases) {
    test(`${name}: ${kind}`, () => {
      const instance = new GameInstance(countingGame(options));
      const play = () => {
        instance.start(0);
        instance.step(0);
      };
      expect(play).toThrow(
        expect.objectContaining({ name: "GameError", kind, method, message: expect.stringContaining(text) }),
      );
    });
  }

  test("the game's own stack is kept, and a report is plain data", () => {
    function deepInTheGame(): never {
      throw new Error("here");
    }
    const instance = new GameInstance(countingGame({ tickResult: deepInTheGame }));
    instance.start(0);
    try {
      instance.step(0);
      expect.unreachable();
    } catch (error) {
      const report = (error as { toReport(): Record<string, unknown> }).toReport();
      expect(report.stack).toContain("deepInTheGame");
      expect(structuredClone(report)).toMatchObject({ kind: "throw", method: "update", field: "" });
    }
  });

  test("masks that allow nothing, or hold anything but 0 and 1", () => {
    for (const [mask, text] of [
      [[1, 1, 0, 0], "allows no action at all"],
      [[1, 2, 1, 1], "actionMask[1] = 2"],
    ] as const) {
      const instance = new GameInstance(
        countingGame({
          action: multiDiscrete([2, 2]),
          actionMask: true,
          start: ({ out }) => {
            out.actionMask!.set(mask);
            return [0, 0];
          },
        }),
      );
      expect(() => instance.start(0)).toThrow(
        expect.objectContaining({ kind: "mask", message: expect.stringContaining(text) }),
      );
    }
  });

  test("create must return a game", () => {
    expect(() => new GameInstance(countingGame({ create: () => ({}) as never }))).toThrow("start is missing");
    const failing = countingGame({
      create: () => {
        throw new Error("no level");
      },
    });
    expect(() => new GameInstance(failing)).toThrow("create() threw: no level");
  });

  test("several agents want another class", () => {
    expect(() => new GameInstance(countingGame({ numAgents: 2, action: discrete(2) }))).toThrow(
      "use createInstance",
    );
  });
});
