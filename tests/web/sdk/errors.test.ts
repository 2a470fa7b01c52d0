/** What is refused of a game's results and thrown errors, in which words, with which step and source. */

import { box, defineGame, dict, discrete, multiBinary } from "attract";
import type { GameOptions } from "attract/contract";
import { describe, expect, test } from "vitest";
import { checkGame } from "../../../web/check/src/check.ts";
import { hintFor, show, thrownByGame } from "../../../web/sdk/src/errors.ts";
import { stepValues } from "../../../web/sdk/src/failed-step.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";
import { methodSource } from "../../../web/sdk/src/method-source.ts";
import { countingGame } from "./counting-game.ts";

class Catch {}

test("objects are named by their class, classes by their names", () => {
  expect(show({})).toBe("{}");
  expect(show(7n)).toBe("7n, a bigint");
  expect(show(new Catch())).toBe("Catch");
  expect(show(Object.assign(new Catch(), { x: 1 }))).toBe('Catch {"x":1}');
  expect(show(Catch)).toBe("the class Catch");
  expect(show(() => 1)).toBe("a function");
  expect(show([1])).toBe("[1]");
});

describe("hints", () => {
  test("what only a page has is named, with what a game does instead", () => {
    const hint = hintFor(new ReferenceError("window is not defined"));
    expect(hint).toMatch(/^games run in a web worker, without a page: there is no window\. Use globalThis/);
    expect(hintFor(new ReferenceError("localStorage is not defined"))).toContain("reset it in start()");
    expect(hintFor(new ReferenceError("Can't find variable: document"))).toContain(
      "draw(context, width, height)",
    );
    expect(hintFor(new ReferenceError("basket is not defined"))).toBe("");
    expect(hintFor(new TypeError("window is not defined"))).toBe("");
    expect(hintFor("window is not defined")).toBe("");
  });

  test("a class that is given as create is told from a function", () => {
    const thrown = new TypeError("Class constructor Catch cannot be invoked without 'new'");
    expect(thrownByGame("create", thrown).message).toBe(
      "create() threw: TypeError: Class constructor Catch cannot be invoked without 'new'; write create: () => new Catch()",
    );
  });
});

const RANGE = { low: 0, high: 0.25 };

test("hostile 8: an update's reward is held against the declared range, both ends included, in each tick", () => {
  // The reward of tick t is t / 16: the fifth is above a quarter, whatever the step comes to.
  const instance = createInstance(countingGame({ reward: RANGE, secondsPerStep: 0.2 }));
  instance.start(0);
  instance.step(0);
  instance.step(0);
  expect(instance.rewards[0]).toBe(7 / 16);
  expect(() => instance.step(0)).toThrow(
    "update() returned reward = 0.3125, but defineGame() declares reward: 0 to 0.25",
  );
});

test("hostile 8: a reward made of terms is held against it too", () => {
  const definition = countingGame({
    reward: { low: -1, high: 1 },
    rewardTerms: { up: 2 },
    tickResult: (tick) => ({ reward: undefined, rewardTerms: { up: tick === 2 ? -0.6 : 0.5 } }),
  });
  const instance = createInstance(definition);
  instance.start(0);
  instance.step(0);
  expect(instance.rewards[0]).toBe(1);
  expect(() => instance.step(0)).toThrow("reward = -1.2, but defineGame() declares reward: -1 to 1");
});

test("hostile 8: of several agents the one is named", () => {
  const observation = [
    [0, 0],
    [0, 0],
  ];
  const definition = countingGame({
    numAgents: 2,
    reward: { low: 0, high: 1 },
    create: () => ({ start: () => ({ observation }), update: () => ({ reward: [1, 1.5] }) }),
  });
  const instance = createInstance(definition);
  instance.start(0);
  expect(() => instance.step([0, 0])).toThrow("reward[1] = 1.5, but defineGame() declares reward: 0 to 1");
});

test("hostile 8: `attract check` says which reward is outside, and where", async () => {
  const { findings, isTrainable } = await checkGame(countingGame({ maxSeconds: 10, reward: RANGE }), {
    steps: 500,
    now: () => 0,
  });
  const found = findings.find(({ id }) => id === "contract");
  expect(isTrainable).toBe(false);
  expect(found?.text).toContain("reward = 0.3125, but defineGame() declares reward: 0 to 0.25 (tick 5");
  expect(found?.method?.name).toBe("CountingGame.update");
});

/** What the third step raises, of a game that returns `result` in each. */
function thirdStep(result: unknown, options: Parameters<typeof countingGame>[0] = {}): string {
  const instance = createInstance(countingGame({ ...options, tickResult: () => result }));
  instance.start(0);
  const action = instance.numAgents === 1 ? 0 : new Uint8Array(instance.numAgents);
  instance.step(action);
  instance.step(action);
  try {
    instance.step(action);
    return "";
  } catch (error) {
    expect(error).toMatchObject({ name: "GameError", method: "update" });
    return (error as Error).message;
  }
}

// A trainer takes returns, metrics and sums of terms of up to 1e30: two steps of 4e29 are within, the third is not.
test("an episode's return, metrics and terms beyond what a trainer takes are the game's failure", () => {
  const beyond =
    /^update\(\) returned (\S+) = 4e\+29, which makes the episode's (.+) 1\.2e\+30; expected at most 1e\+30/;
  const observation = [
    [0, 0],
    [0, 0],
  ];
  for (const [result, options, field, what] of [
    [{ reward: 4e29 }, {}, "reward", "return"],
    [{ reward: [0, 4e29], observation }, { numAgents: 2, start: () => observation }, "reward[1]", "return"],
    [{ info: { gold: 4e29 } }, { metrics: { gold: "sum" } }, "info.gold", "metric (sum)"],
    [{ reward: 0, rewardTerms: { up: 4e29 } }, { rewardTerms: { up: 0 } }, "rewardTerms.up", "sum"],
  ] as const) {
    expect(beyond.exec(thirdStep(result, options))?.slice(1)).toEqual([field, what]);
  }
  expect(thirdStep({ reward: -3e29, info: { gold: 9e29 } }, { metrics: { gold: "last" } })).toBe("");
});

test("a metric of one number beyond it fails at once, a mean that comes back within does not", () => {
  const instance = createInstance(
    countingGame({ metrics: { big: "last" }, tickResult: () => ({ info: { big: 1e31 } }) }),
  );
  instance.start(0);
  expect(() => instance.step(0)).toThrow(
    "update() returned info.big = 1e+31, which makes the episode's metric (last) 1e+31",
  );
  expect(thirdStep({ info: { big: -1e30 } }, { metrics: { big: "mean" } })).toBe("");
});

function instanceOf(options: Partial<GameOptions>, observation: unknown) {
  const definition = defineGame({
    id: "G",
    tickSeconds: 1,
    observation: box({ shape: [2] }),
    action: discrete(["left", "right"]),
    create: () => ({ start: () => observation, update: () => ({ reward: 0 }) }) as never,
    ...options,
  });
  const instance = createInstance(definition);
  instance.start(0);
  return { definition, instance };
}

test("an action is told by its number and label, an observation by its numbers", () => {
  const { definition, instance } = instanceOf({}, [1 / 3, 2]);
  expect(stepValues(definition, instance, "update", 1)).toBe('action 1 ("right"), observation [0.3333, 2]');
  expect(stepValues(definition, instance, "update", null)).toBe("observation [0.3333, 2]");
  expect(stepValues(definition, instance, "start", 1)).toBe("");
});

test("dicts are told by entry, agents one by one, long ones by their beginning and size", () => {
  const space = dict({ far: box({ shape: [20] }), on: multiBinary(2) });
  const one = { far: new Array(20).fill(0.5), on: [1, 0] };
  const { definition, instance } = instanceOf({ numAgents: 2, observation: space }, [one, one]);
  const text = stepValues(definition, instance, "update", [0, 1]);
  expect(text).toContain("action [0, 1], observation[0].far [0.5, 0.5,");
  expect(text).toContain("... 20 numbers], observation[0].on [1, 0], observation[1].far");
});

test("the line is of bounded length", () => {
  const spaces = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`e${i}`, box({ shape: [12] })]));
  const values = Object.fromEntries(Object.keys(spaces).map((name) => [name, new Array(12).fill(0.1234)]));
  const { definition, instance } = instanceOf({ observation: dict(spaces) }, values);
  expect(stepValues(definition, instance, "update", 0)).toHaveLength(1_003);
});

class Fed {
  update() {
    return { reward: 0 };
  }
}

test("a method is its class, its name, its text and the first word of the field", () => {
  const source = methodSource(new Fed(), "update", "rewardTerms.food[3]");
  expect(source).toMatchObject({ name: "Fed.update", field: "rewardTerms" });
  expect(source.text).toMatch(/^update\(\) \{/);
});

test("what has no source, no class or a long name fits the wire all the same", () => {
  expect(methodSource(undefined, "create")).toEqual({ name: "create", text: "", field: "" });
  const plain = { update: new Fed().update.bind(null) };
  expect(methodSource(plain, "update")).toEqual({ name: "update", text: "", field: "" });
  const long = { [`C${"x".repeat(300)}`]: class {} };
  const [Long] = Object.values(long);
  expect(methodSource(new Long(), "start").name.length).toBeLessThan(120);
  const large = { update: new Function(`return ${"1+".repeat(9_000)}1`) };
  expect(methodSource(large, "update").text).toHaveLength(4_000);
});
