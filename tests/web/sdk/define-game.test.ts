/** What `defineGame` refuses, with the words that help; and how labels and limits are resolved. */

import { describe, expect, test } from "vitest";
import type { GameDefinition } from "../../../web/sdk/src/contract.ts";
import {
  checkDefinition,
  defineGame,
  maxSteps,
  resolveAction,
  ticksPerStep,
} from "../../../web/sdk/src/define-game.ts";
import { describe as describeGame } from "../../../web/sdk/src/description.ts";
import { nearestName } from "../../../web/sdk/src/nearest-name.ts";
import { pictureStacks } from "../../../web/sdk/src/picture-stacks.ts";
import { box, dict, discrete, mixed, multiBinary, multiDiscrete, set } from "../../../web/sdk/src/spaces.ts";
import { CountingGame, countingGame } from "./counting-game.ts";

const USUAL = {
  id: "Counting-v1",
  tickSeconds: 0.1,
  observation: box({ shape: [2] }),
  action: discrete(["left", "right"]),
  create: () => new CountingGame(),
};

describe("T1: ticks per step", () => {
  test("T1: whole within 1e-6 of the ratio, whatever floats make of it", () => {
    expect(ticksPerStep(1 / 60, 6 / 60)).toBe(6);
    expect(ticksPerStep(0.1, 0.3)).toBe(3);
    expect(ticksPerStep(0.02, 0.02)).toBe(1);
    expect(ticksPerStep(1, 3 + 0.9e-6)).toBe(3);
    expect(() => ticksPerStep(1, 3 + 1.1e-6)).toThrow("held for whole ticks");
  });

  test("T1: the error names the nearest values that work, and they do", () => {
    let message = "";
    try {
      ticksPerStep(0.016, 0.05);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toBe(
      "secondsPerStep: 0.05 is 3.125 ticks of 0.016, but an action is held for whole ticks. " +
        "The nearest that work: secondsPerStep 0.048 (3 ticks) or 0.064 (4 ticks), or tickSeconds 0.01666667 (3 ticks)",
    );
    expect(ticksPerStep(0.016, 0.048)).toBe(3);
    expect(ticksPerStep(0.016, 0.064)).toBe(4);
    expect(ticksPerStep(0.01666667, 0.05)).toBe(3);
  });

  test("T1: less than one tick is no step", () => {
    expect(() => ticksPerStep(0.1, 0.04)).toThrow(
      "secondsPerStep 0.1 (1 tick), or tickSeconds 0.04 (1 tick)",
    );
    for (const bad of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "1"]) {
      expect(() => ticksPerStep(0.1, bad as number)).toThrow("must be a positive number of seconds");
    }
  });
});

test("the time limit counts the whole steps that fit", () => {
  expect(maxSteps({ tickSeconds: 0.02, maxSeconds: 10 })).toBe(500);
  expect(maxSteps({ tickSeconds: 0.1, secondsPerStep: 0.3, maxSeconds: 10 })).toBe(33);
  expect(maxSteps({ tickSeconds: 0.1 })).toBe(null);
  expect(() => maxSteps({ tickSeconds: 0.1, maxSeconds: 0.05 })).toThrow("less than one step");
});

test("defineGame stamps the contract's version and keeps the rest", () => {
  const definition = defineGame(USUAL);
  expect(definition.contract_version).toBe(1);
  expect(definition.observation).toEqual({
    kind: "box",
    dtype: "float32",
    shape: [2],
    low: null,
    high: null,
  });
});

test("a definition that crossed as data is checked, one that was never defined refused", () => {
  expect(() => checkDefinition({ ...defineGame(USUAL) })).not.toThrow();
  expect(() => checkDefinition(USUAL)).toThrow("wrap it in defineGame()");
  expect(() => checkDefinition(undefined)).toThrow("must be defineGame({...}), got undefined");
});

test("lists of a space may be any that can be walked, and a null dtype is the usual one", () => {
  const shape = new Int32Array([2, 3]) as never;
  expect(box({ shape, dtype: null as never })).toEqual(box({ shape: [2, 3] }));
  expect(multiDiscrete(shape)).toEqual(multiDiscrete([2, 3]));
  expect(discrete(new Set(["left", "right"]) as never)).toEqual(discrete(["left", "right"]));
});

describe("refusals name the option", () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ id: "no spaces" }, "id: 1 to 64 letters"],
    [{ id: "" }, "id: 1 to 64 letters"],
    [{ tickSeconds: 0 }, "tickSeconds: must be a positive number"],
    [{ create: 3 }, "create: must be a function"],
    [{ numAgents: 1.5 }, "numAgents: must be a whole number >= 1, got 1.5"],
    [{ tickSecond: 1 }, "tickSecond: unknown option; did you mean tickSeconds? known: id, tickSeconds"],
    [{ observation: [4] }, "observation: needs a space such as box({ shape: [4] })"],
    [{ observation: discrete(3) }, "observation: must be a box, a set or a dict of them, got discrete"],
    [{ observation: set({ max: 0, shape: [4] }) }, "observation: max must be a whole number >= 1, got 0"],
    [{ observation: set({ max: 1e9, shape: [4] }) }, "observation: max must be at most 1024, got 1000000000"],
    [{ observation: set({ max: 2.5, shape: [4] }) }, "observation: max must be a whole number >= 1, got 2.5"],
    [{ observation: set({ max: 9, shape: [] }) }, "observation: set needs the shape of one thing"],
    [
      { observation: set({ max: 9, shape: [2, 2] }) },
      "observation: shape must have at most 1 entries, got 2",
    ],
    [
      { observation: dict({ rocks: set({ max: 9, shape: [0] }) }) },
      "observation.rocks: shape must be a whole",
    ],
    [{ action: set({ max: 9, shape: [2] }) as never }, "action: set is for observations only"],
    [{ observation: box({ shape: [0] }) }, "shape must be a whole number >= 1, got 0"],
    [{ observation: box({ shape: [2], low: 1, high: 1 }) }, "low 1 must be less than high 1"],
    [{ observation: box({ shape: [2], low: [0, 0, 0] }) }, "low has 3 entries, shape [2] needs 2"],
    [{ action: discrete(0) }, "action: n must be a whole number >= 1, got 0"],
    [{ action: discrete(["a", "a"]) }, "labels must differ"],
    [{ action: box({ shape: [1] }) }, "a box action is float32 and needs finite low and high"],
    // As JavaScript calls them, without types.
    [{ observation: box(undefined as never) }, "observation: box needs a shape such as [4], got undefined"],
    [{ observation: box({ low: 0, high: 1 } as never) }, "box needs a shape such as [4], got undefined"],
    [{ observation: box({ shape: 4 as never }) }, "box needs a shape such as [4], got 4"],
    [
      { observation: set(undefined as never) },
      "set needs the shape of one thing, such as [4], got undefined",
    ],
    [{ action: discrete(undefined as never) }, "action: n must be a whole number >= 1, got undefined"],
    [{ action: discrete({ jump: 1 } as never) }, 'action: n must be a whole number >= 1, got {"jump":1}'],
    [{ action: discrete("jump" as never) }, 'action: n must be a whole number >= 1, got "jump"'],
    [
      { action: multiDiscrete(3 as never) },
      "action: multiDiscrete needs a list of counts, such as [3, 2], got 3",
    ],
    [{ action: mixed(undefined as never) }, "action: mixed needs a box and a discrete"],
    [{ action: { kind: "graph" } }, 'unknown kind "graph"; known: box, discrete'],
    [{ action: box({ shape: [1], low: 0, high: 1 }), actionMask: true }, "actionMask: works with discrete"],
    [{ keys: { KeyA: "up" } }, 'keys.KeyA: "up" is no action; legal: "left", "right"'],
    [{ idle: 2 }, 'idle: 2 is no action; legal: "left", "right"'],
    [
      { parameters: { size: { default: 5, low: 6, high: 7 } } },
      "parameters.size: needs finite low <= default <= high",
    ],
    [{ metrics: { food: "median" } }, 'metrics.food: must be one of last, sum, mean, max, got "median"'],
    [{ reward: { low: 1, high: 0 } }, "reward: needs finite low <= high, got"],
    [{ reward: 3 as never }, "reward: must be an object like { low: -1, high: 1 }, got 3"],
    [{ rewardTerms: { food: Number.NaN } }, "rewardTerms.food: needs a finite weight, got NaN"],
    [{ metrics: ["food"] }, 'metrics: must be an object like { coins: "sum" }, got ["food"]'],
    [{ rewardTerms: "food" }, 'rewardTerms: must be an object like { coins: 1 }, got "food"'],
    [
      { parameters: null },
      "parameters: must be an object like { speed: { default: 1, low: 0.5, high: 2 } }, got null",
    ],
  ];
  for (const [change, message] of cases) {
    test(message, () => {
      expect(() => defineGame({ ...USUAL, ...change } as typeof USUAL)).toThrow(
        expect.objectContaining({ name: "ConfigurationError", message: expect.stringContaining(message) }),
      );
    });
  }
});

test("actions resolve to an index, or to one number per component", () => {
  expect(resolveAction("keys.a", discrete(["left", "right"]), "right")).toBe(1);
  expect(resolveAction("keys.a", discrete(3), 2)).toBe(2);
  expect(resolveAction("keys.a", multiDiscrete([2, 3]), [1, 2])).toEqual([1, 2]);
  expect(resolveAction("keys.a", multiBinary(2), [0, 1])).toEqual([0, 1]);
  expect(resolveAction("keys.a", box({ shape: [2], low: -1, high: 1 }), [-1, 0.5])).toEqual([-1, 0.5]);
  expect(() => resolveAction("keys.a", discrete(3), 3)).toThrow("legal: 0 to 2");
  expect(() => resolveAction("keys.a", multiDiscrete([2, 3]), [1, 3])).toThrow("component 1 cannot be 3");
  expect(() => resolveAction("keys.a", multiBinary(2), [0, 2])).toThrow("component 1 cannot be 2");
  expect(() => resolveAction("keys.a", box({ shape: [1], low: -1, high: 1 }), [2])).toThrow(
    "component 0 cannot be 2",
  );
  expect(() => resolveAction("keys.a", multiBinary(2), [0])).toThrow("needs an array of 2 numbers");
});

const PIXELS = box({ dtype: "uint8", shape: [4, 4, 6] });

function game(options: Partial<GameDefinition>): GameDefinition {
  return { ...countingGame(), ...options };
}

test("by the name of the observation, in the description", () => {
  const alone = game({ observation: PIXELS, pictureStacks: { obs: 3 } });
  expect(pictureStacks(alone)).toEqual({ obs: 3 });
  expect(describeGame(alone).picture_stacks).toEqual({ obs: 3 });
  const beside = game({
    observation: dict({ eye: PIXELS, time: box({ shape: [1] }) }),
    pictureStacks: { eye: 2 },
  });
  expect(describeGame(beside).picture_stacks).toEqual({ eye: 2 });
  expect(describeGame(countingGame()).picture_stacks).toEqual({});
});

describe("what cannot be one", () => {
  const eye = dict({ eye: PIXELS, choice: discrete(2), bytes: box({ dtype: "uint8", shape: [6] }) });
  test.each([
    [
      game({ observation: PIXELS, pictureStacks: { pixels: 2 } }),
      "pictureStacks.pixels: is no observation; there are obs",
    ],
    [game({ observation: eye, pictureStacks: { obs: 2 } }), "there are eye, choice, bytes"],
    [game({ observation: eye, pictureStacks: { toString: 2 } }), "is no observation"],
    [game({ observation: eye, pictureStacks: { choice: 2 } }), 'must be a box of dtype "uint8"'],
    [game({ observation: eye, pictureStacks: { bytes: 2 } }), "shape [rows, columns, channels]"],
    [game({ observation: box({ shape: [4, 4, 6] }), pictureStacks: { obs: 2 } }), 'dtype "uint8"'],
    [game({ observation: PIXELS, pictureStacks: { obs: 4 } }), "6 channels are not 4 pictures of equal size"],
    [
      game({ observation: PIXELS, pictureStacks: { obs: 1 } }),
      "pictureStacks.obs: must be at least 2, got 1",
    ],
    [game({ observation: PIXELS, pictureStacks: { obs: 2.5 } }), "must be a whole number, got 2.5"],
    [
      game({ observation: PIXELS, pictureStacks: { obs: "2" as unknown as number } }),
      "must be a whole number",
    ],
  ])("%#", (wrong, text) => {
    expect(() => describeGame(wrong)).toThrow(text);
  });
});

const KNOWN = ["id", "tickSeconds", "secondsPerStep", "maxSeconds", "observation", "action", "actionMask"];

test.each([
  ["maxSteps", "maxSeconds"],
  ["tickSecond", "tickSeconds"],
  ["observationSpace", "observation"],
  ["ActionSpace", "action"],
  ["colour", null],
])("%s is most like %s", (name, expected) => {
  expect(nearestName(name, KNOWN)).toBe(expected);
});
