import { describe, expect, test } from "vitest";
import { hintFor, show, thrownByGame } from "../../../web/sdk/src/errors.ts";

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
