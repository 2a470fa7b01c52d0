import type { PageWindow } from "attract/page-adapter";
import { expect, test } from "vitest";
import { ClaimWatch } from "../../../web/playtest/src/claim-watch.ts";
import { loadedFrame } from "../../support/blank-page.ts";

/** A page whose variables are those of a classic script, which no property of the window names. */
async function pageOf(script: string): Promise<PageWindow> {
  return (await loadedFrame({ srcdoc: `<script>${script}</script>` })).contentWindow;
}

test("a page's claim is evaluated among the variables of its scripts, and holds at the step where it does", async () => {
  const window = await pageOf("let player = { jumps: 0 };");
  const watch = await ClaimWatch.of("player.jumps >= 2 && player.jumps < 9", true);
  watch.begin();
  expect(watch.holds(window, 0)).toBe(false);
  expect(watch.hasHeld).toBe(false);
  window.eval("player.jumps = 2");
  expect(watch.holds(window, 7)).toBe(true);
  expect(watch.result).toEqual({
    held_at: 7,
    error: null,
    parts: [
      { text: "player.jumps >= 2", first: 0, nearest: 2, gap: 0, has_held: true },
      { text: "player.jumps < 9", first: 0, nearest: 0, gap: 0, has_held: true },
    ],
  });
  watch.begin();
  expect(watch.result).toMatchObject({ held_at: null, error: "no step was played" });
});

test("a module's claim is about `game`", async () => {
  const watch = await ClaimWatch.of("game.level === 2", false);
  watch.begin();
  const game = { level: 1 };
  expect(watch.holds(game, 0)).toBe(false);
  game.level = 4;
  expect(watch.holds(game, 1)).toBe(false);
  expect(watch.result.parts).toEqual([
    { text: "game.level === 2", first: 1, nearest: 1, gap: -1, has_held: false },
  ]);
  game.level = 2;
  expect(watch.holds(game, 2)).toBe(true);
});

test.each([
  [">=", [3, 5, 4], 5, -1, false],
  [">", [3, 6, 4], 6, 0, false],
  ["<", [9, 6, 8], 6, 0, false],
  ["<=", [9, 6, 8], 6, 0, true],
  ["==", [9, 2, 8], 8, -2, false],
] as const)("how near `x %s 6` comes", async (operator, values, nearest, gap, held) => {
  const watch = await ClaimWatch.of(`game.x ${operator} 6`, false);
  watch.begin();
  for (const [step, x] of values.entries()) watch.holds({ x }, step);
  expect(watch.result.parts[0]).toMatchObject({ first: values[0], nearest, gap, has_held: held });
});

test("what cannot be evaluated yet does not hold, and what never can says why", async () => {
  const window = await pageOf("let scene = null;");
  const watch = await ClaimWatch.of("scene.enemies.length > 3", true);
  watch.begin();
  expect(watch.holds(window, 0)).toBe(false);
  expect(watch.result.error).toMatch(/^TypeError: /);
  window.eval("scene = { enemies: [1, 2, 3, 4] }");
  expect(watch.holds(window, 1)).toBe(true);
  expect(watch.result.error).toBe(null);
});

test.each(["player.", "", ") || (() => 0", "x => {"])("%j is no expression of a page", async (text) => {
  const watch = await ClaimWatch.of(text, true);
  watch.begin();
  expect(watch.holds(await pageOf(""), 0)).toBe(false);
  expect(watch.result.error).toMatch(/^SyntaxError: /);
});

test("whatever a page throws is said in few words", async () => {
  const window = await pageOf(`const evil = {
    get long() { throw new Error("A".repeat(100_000)); },
    get odd() { throw { toString() { throw new Error("again"); } }; },
  };`);
  for (const [claim, says] of [
    ["evil.long > 3", /^Error: A+\.\.\.$/],
    ["evil.odd > 3", /^./],
  ] as const) {
    const watch = await ClaimWatch.of(claim, true);
    watch.begin();
    expect(watch.holds(window, 0)).toBe(false);
    expect(watch.result.error).toMatch(says);
    expect(watch.result.error!.length).toBeLessThan(2000);
    expect(watch.isSettled).toBe(false);
  }
});

test("a part behind one that does not hold says nothing, and the others are measured", async () => {
  const watch = await ClaimWatch.of("game.n > 3 && game.boss.hp < 5 && game.m > 2", false);
  watch.begin();
  expect(watch.holds({ n: 1, m: 1 }, 0)).toBe(false);
  expect(watch.result.parts.map(({ nearest }) => nearest)).toEqual([1, null, 1]);
  expect(watch.result.error).toBe(null);
});

test("what has held, or is no expression, needs no other episode", async () => {
  const window = await pageOf("let x = 1;");
  for (const [claim, isSettled] of [
    ["x > 0", true],
    ["x > 1", false],
    ["x >", true],
    ["y > 1", false],
  ] as const) {
    const watch = await ClaimWatch.of(claim, true);
    watch.begin();
    watch.holds(window, 0);
    expect(watch.isSettled).toBe(isSettled);
  }
});

test("a claim of very many parts is measured by the first", async () => {
  const watch = await ClaimWatch.of(
    Array.from({ length: 100 }, (_, n) => `game.x > ${n}`).join(" && "),
    false,
  );
  watch.begin();
  expect(watch.result.parts).toHaveLength(64);
});

test("only comparisons have a limit: no choice, and no part of a bracket or a quoted text", async () => {
  const parts = async (text: string) => {
    const watch = await ClaimWatch.of(text, false);
    watch.begin();
    return watch.result.parts.map((part) => part.text);
  };
  expect(await parts("game.a > 1 && game.b(2, game.c) <= 3")).toEqual([
    "game.a > 1",
    "game.b(2, game.c) <= 3",
  ]);
  expect(await parts("game.at('score') >= 3 && game.b")).toEqual(["game.at('score') >= 3"]);
  expect(await parts("game.at('1 && 2') > 3")).toEqual([]);
  expect(await parts("game.at('a > b')")).toEqual([]);
  expect(await parts("game.a > 1 || game.b > 2")).toEqual([]);
  expect(await parts("(game.a > 1 && game.b) && game.c > 2")).toEqual(["game.c > 2"]);
  expect(await parts("game.won")).toEqual([]);
});
