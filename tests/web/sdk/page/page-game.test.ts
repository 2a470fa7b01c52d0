import { expect, test } from "vitest";
import { describe } from "../../../../web/sdk/src/description.ts";
import { box, definePageGame, discrete, multiBinary } from "../../../../web/sdk/src/page/index.ts";

const GIVEN = {
  id: "Hop-v1",
  page: "dist/index.html",
  observation: box({ shape: [2] }),
  action: discrete(["run", "jump", "both"]),
  keys: { run: [], jump: ["Space"], both: ["Space", "ArrowRight"] },
  observe: () => [0, 0],
  score: () => 0,
  over: () => false,
};

test("a page game is a game like any other: 60 ticks a second, an action held for four", () => {
  const found = describe(definePageGame({ ...GIVEN, maxSeconds: 10 }));
  expect(found).toMatchObject({
    id: "Hop-v1",
    page: "dist/index.html",
    ticks_per_step: 4,
    max_steps: 150,
    keys: { Space: 1 },
    idle_action: 0,
    has_draw: true,
  });
  expect(found.tick_seconds * 60).toBe(1);
});

test("without a restart each episode has a page of its own", () => {
  expect(definePageGame(GIVEN).page?.reset).toBe("reload");
  expect(definePageGame({ ...GIVEN, restart: () => undefined }).page?.reset).toBe("own");
});

test("where there is no page it says so", () => {
  expect(() => definePageGame(GIVEN).create()).toThrow(/Hop-v1 lives in the page dist\/index.html/);
});

test.each([
  [{ obsrve: 1 }, "obsrve: unknown option; did you mean observe?"],
  [{ page: "../index.html" }, "page: must be a page below"],
  [{ page: "/etc/x.html" }, "page: must be a page below"],
  [{ page: "a/../../x.html" }, "page: must be a page below"],
  [{ page: "http://elsewhere/x.html" }, "page: must be a page below"],
  [{ page: "index.js" }, "page: must be a page below"],
  [{ size: [0, 5] }, "size: must be [width, height]"],
  [{ ticksPerStep: 1.5 }, "ticksPerStep: must be a whole number"],
  [{ over: undefined }, "over: must be given"],
  [{ over: true }, "over: must be a function"],
  [{ score: undefined }, "score: give either score or reward"],
  [{ reward: () => 0 }, "score: give either score or reward"],
  [{ reset: "own" }, 'reset: "own" needs restart'],
  [{ reset: "never" }, 'reset: must be "own" or "reload"'],
  [{ actionMask: true }, "allowed: allowed(window) and actionMask"],
  [{ keys: { run: [], jump: ["Space"] } }, 'keys: says nothing of "both"; write both: []'],
  [{ keys: { ...GIVEN.keys, fly: [] } }, "keys.fly: is no label"],
  [{ keys: { ...GIVEN.keys, jump: "Space" } }, "keys.jump: must be an array"],
  [{ keys: [GIVEN.keys, GIVEN.keys] }, "keys: needs one object for each of 1 agents, got 2"],
  [{ action: multiBinary(2) }, "act: an action that is not discrete"],
])("%j: %s", (wrong, text) => {
  expect(() => definePageGame({ ...GIVEN, ...wrong } as never)).toThrow(text);
});

test("a pointer's places do for keys, and an action of any kind with act()", () => {
  const pointers = { run: [1, 2, "move"], jump: [3, 4], both: [5, 6] } as const;
  expect(definePageGame({ ...GIVEN, keys: undefined, pointers }).page?.pointers).toEqual(pointers);
  expect(
    definePageGame({ ...GIVEN, keys: undefined, action: multiBinary(2), act: () => undefined }).page?.keys,
  ).toEqual([]);
});
