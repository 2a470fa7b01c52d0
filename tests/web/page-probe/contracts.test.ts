import { expect, test } from "vitest";
import { hookRoots, seedHook } from "../../../web/page-probe/src/contracts.ts";
import { findPlaces } from "../../../web/page-probe/src/places.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";

/** Classes of a browser's, of which no value of a test is one. */
class Other {}
const NATIVE = Object.fromEntries(
  ["Node", "Promise", "WeakMap", "CanvasRenderingContext2D", "EventTarget"].map((name) => [name, Other]),
);

function pageWith(published: object): PageWindow {
  return { ...NATIVE, Object, Function, ArrayBuffer, Set, Map, ...published } as PageWindow;
}

test("diagnostics and the functions that give a state are read, and what changes the game is not called", () => {
  const called: string[] = [];
  const page = pageWith({
    __GAME_DIAGNOSTICS__: { frame: 3, score: 7, complete: false, player: { x: 1, y: 2 } },
    __GAME_TEST_HOOKS__: {
      getState: () => ({ hp: 5, entities: [{ x: 4, y: 6 }] }),
      setState: () => called.push("setState"),
      reset: () => called.push("reset"),
    },
    gameAPI: { getScore: () => 9, state: async () => ({ score: 1 }), getPlayer: (id: number) => ({ x: id }) },
  });
  const roots = hookRoots(page);
  expect(roots.map(({ text }) => text)).toEqual([
    "w.__GAME_DIAGNOSTICS__",
    "w.__GAME_TEST_HOOKS__.getState()",
    "w.gameAPI.getScore()",
  ]);
  const found = Object.fromEntries(findPlaces(page, roots).map(({ text, read }) => [text, read(page)]));
  expect(found).toMatchObject({
    "w.__GAME_DIAGNOSTICS__?.score": 7,
    "w.__GAME_DIAGNOSTICS__?.complete": false,
    "w.__GAME_DIAGNOSTICS__?.player?.x": 1,
    "w.__GAME_TEST_HOOKS__.getState()?.entities": [1, 4, 6],
    "w.gameAPI.getScore()": 9,
  });
  expect(called).toEqual([]);
});

test("a game that a test seeds is seeded by the adapter; without hooks there are none", () => {
  expect(seedHook(pageWith({ __GAME_TEST_HOOKS__: { seed: () => 0 } }))).toBe(
    "w.__GAME_TEST_HOOKS__.seed(seed)",
  );
  expect(seedHook(pageWith({}))).toBeNull();
  expect(hookRoots(pageWith({ __GAME_DIAGNOSTICS__: null, gameAPI: () => 0 }))).toEqual([]);
});
