import {
  FailureLimit,
  type FailureReport,
  FatalGameError,
  isGameError,
  NOWHERE,
  reportOf,
  UNKNOWN_STEP,
} from "@attract/worker/game/failures";
import { box, defineGame, discrete } from "attract";
import { GameError, thrownByGame } from "attract/errors";
import { createInstance } from "attract/group-instance";
import { describe, expect, test } from "vitest";

const report = (kind: FailureReport["kind"]): FailureReport => ({
  kind,
  name: "E",
  text: "t",
  stack: null,
  ...UNKNOWN_STEP,
  ...NOWHERE,
});

describe("the limit", () => {
  test("is ten of one kind in a row; kinds are counted apart", () => {
    let goodSteps = 0;
    const reported: string[] = [];
    const limit = new FailureLimit(
      ({ kind }) => reported.push(kind),
      () => goodSteps,
    );
    for (let i = 0; i < 9; i++) {
      limit.count(report("throw"));
      limit.count(report("nan"));
    }
    expect(() => limit.count(report("shape"))).not.toThrow();
    goodSteps = 999;
    expect(() => limit.count(report("throw"))).toThrow(FatalGameError);
    // The one that ends it is told of too.
    expect(reported).toEqual([...new Array(9).fill(["throw", "nan"]).flat(), "shape", "throw"]);
  });

  test("begins again after 1,000 good steps", () => {
    let goodSteps = 0;
    const limit = new FailureLimit(
      () => undefined,
      () => goodSteps,
    );
    const failAt = (steps: number) => {
      goodSteps = steps;
      limit.count(report("throw"));
    };
    for (let i = 0; i < 100; i++) failAt(1000 * i);
    for (let i = 0; i < 8; i++) failAt(99_000 + 999 * i);
    expect(() => failAt(99_000 + 999 * 8)).toThrow(
      expect.objectContaining({ report: { ...report("throw"), repeated: 10 } }),
    );
  });
});

describe("a report", () => {
  test("names what the game threw, with its own stack", () => {
    const thrown = new RangeError("off the board");
    const made = reportOf(thrownByGame("update", thrown), { ...NOWHERE, slot_id: 3 });
    expect(made).toMatchObject({ kind: "throw", name: "RangeError", slot_id: 3, stack: thrown.stack });
    expect(made.text).toContain("off the board");
  });

  test("tells shapes, numbers and whatever else breaks the contract apart", () => {
    const kinds = (["throw", "shape", "nan", "flag", "promise", "missing", "mask"] as const).map(
      (kind) => reportOf(new GameError(kind, "update", "x", "text"), NOWHERE).kind,
    );
    expect(kinds).toEqual(["throw", "shape", "nan", "invalid", "invalid", "invalid", "invalid"]);
    expect(reportOf(new TypeError("ours"), NOWHERE).kind).toBe("crash");
    expect(reportOf("a string", NOWHERE, "load")).toMatchObject({
      kind: "load",
      text: "a string",
      stack: null,
    });
  });

  test("of a contract broken has no stack of ours but the method and the values of the step", () => {
    class Catch {
      update() {
        return { reward: Number.NaN };
      }
      start() {
        return [0.25, 0];
      }
    }
    const definition = defineGame({
      id: "Catch-v1",
      tickSeconds: 1,
      observation: box({ shape: [2] }),
      action: discrete(["left", "stay"]),
      create: () => new Catch() as never,
    });
    const instance = createInstance(definition);
    instance.start(0);
    const error = new GameError("nan", "update", "reward", "update() returned reward = NaN");
    const made = reportOf(error, NOWHERE, undefined, { definition, instance, action: 1 });
    expect(made).toMatchObject({
      stack: null,
      step_values: 'action 1 ("stay"), observation [0.25, 0]',
      method: { name: "Catch.update", field: "reward" },
    });
    expect(made.method?.text).toMatch(/^update\(\) \{/);
    expect(reportOf(error, NOWHERE)).toMatchObject({ stack: null, method: null, step_values: null });
  });

  test("of a module that wants a page says what a game does instead", () => {
    const made = reportOf(new ReferenceError("document is not defined"), NOWHERE, "load");
    expect(made.text).toMatch(/^document is not defined; games run in a web worker/);
  });

  test("is short enough for the wire", () => {
    const made = reportOf(new Error("x".repeat(50_000)), NOWHERE);
    expect(made.text.length).toBeLessThan(20_000);
    expect(made.stack?.length).toBeLessThan(20_000);
  });

  test("a game's error is told from ours also when it comes from another bundle", () => {
    const foreign = Object.assign(new Error("x"), { name: "GameError", kind: "nan" });
    expect(isGameError(foreign)).toBe(true);
    expect(isGameError(new Error("x"))).toBe(false);
    expect(isGameError("x")).toBe(false);
  });
});
