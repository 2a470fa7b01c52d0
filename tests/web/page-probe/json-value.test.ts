/** Values of a page as JSON: whatever they are, of bounded size and without control characters. */

import { expect, test } from "vitest";
import { jsonOf, numberOf, wordsOf } from "../../../web/page-probe/src/json-value.ts";

test("words are one line without control characters, cut to their length", () => {
  expect(wordsOf(" \u001b[31mScore:\n\t40\u2028\u009b1m ")).toBe("[31mScore: 40 1m");
  expect(wordsOf("x".repeat(500))).toHaveLength(400);
  expect(wordsOf("abcdef", 4)).toBe("abc…");
  // The first half of the second smile is left.
  expect(wordsOf("😀😀", 4)).toBe("😀😀");
  expect(wordsOf("😀😀a", 4)).toBe("😀\ufffd…");
  expect(wordsOf({ toString: () => Symbol("no") as never })).toBe("[no text]");
});

test("whole numbers stay as they are, others have six digits", () => {
  expect([16777215, 1 / 3, -0.0001234567, 2 ** 60].map(numberOf)).toEqual([
    16777215, 0.333333, -0.000123457, 1152920000000000000,
  ]);
  expect([Number.NaN, Number.POSITIVE_INFINITY, "3", null].map(numberOf)).toEqual([null, null, null, null]);
});

test("values that JSON has no words for are named", () => {
  const ring: Record<string, unknown> = { a: undefined, f: () => 1, n: Number.NaN };
  ring.ring = ring;
  expect(jsonOf(ring)).toEqual({ a: null, f: "[function]", n: "NaN", ring: "[circular]" });
  expect(jsonOf({ tagName: "DIV", nodeType: 1 })).toBe("[div]");
  expect(
    [jsonOf("x".repeat(500)), jsonOf("x".repeat(500), 6, 450)].map((text) => String(text).length),
  ).toEqual([400, 450]);
  expect(jsonOf(new Set([1, "two"]))).toEqual([1, "two"]);
  expect(jsonOf(new Map([["a", 1]]))).toEqual([["a", 1]]);
  expect(jsonOf(new Float32Array([0.5, 2]))).toEqual([0.5, 2]);
  const trap = {
    get x(): number {
      throw new Error("no");
    },
  };
  expect(jsonOf({ trap, y: 1 })).toEqual({ trap: "[threw no]", y: 1 });
});

test("what looks like an element and is none is bounded, and throws nothing", () => {
  expect(jsonOf({ tagName: "X".repeat(10_000), nodeType: 1 })).toHaveLength(100);
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const foreign = {
    get tagName(): string {
      throw new Error("of another origin");
    },
  };
  expect(jsonOf([proxy, foreign])).toEqual([expect.stringMatching(/^\[threw /), "[threw of another origin]"]);
});

test("the same object twice is no circle", () => {
  const one = { x: 1 };
  expect(jsonOf([one, one])).toEqual([{ x: 1 }, { x: 1 }]);
});

test("deep and long values are cut", () => {
  expect(jsonOf([[[[[1, 2]]]]])).toEqual([[[["[array of 2]"]]]]);
  expect(jsonOf({ a: { b: { c: { d: { e: 1 } } } } })).toEqual({ a: { b: { c: { d: "[object]" } } } });
  expect(jsonOf(Array(1_000).fill(0))).toHaveLength(100);
  const wide = Array.from({ length: 100 }, () => Array(100).fill("x".repeat(1_000)));
  // 2,000 values of at most 400 characters, and a sign for each that is left out.
  expect(JSON.stringify(jsonOf(wide)).length).toBeLessThan(2_000 * 404 + 8_200 * 4);
});
