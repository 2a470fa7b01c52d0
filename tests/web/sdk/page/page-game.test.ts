import { expect, test } from "vitest";
import { describe } from "../../../../web/sdk/src/description.ts";
import {
  box,
  definePageGame,
  dict,
  discrete,
  mixed,
  multiBinary,
} from "../../../../web/sdk/src/page/index.ts";

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

const PLACE = box({ shape: [2], low: 0, high: [800, 600] });
const HOP = discrete(["run", "jump"]);
const AIMED = {
  action: mixed({ aim: PLACE, hop: HOP }),
  keys: { jump: ["Space"] },
  pointers: { aim: "move", jump: "press" },
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
  const setUp = { restart: () => undefined, prepare: (_w: unknown, _parameters: unknown) => undefined };
  expect(definePageGame({ ...GIVEN, ...setUp }).page?.reset).toBe("reload");
});

test("pixels are the observation, or the entry of that name beside what else is seen", () => {
  const { observation: _space, observe: _look, ...rest } = GIVEN;
  const alone = definePageGame({ ...rest, pixels: { size: 32, grey: false, stack: 2 } });
  expect(alone.observation).toMatchObject({ kind: "box", dtype: "uint8", shape: [32, 32, 6] });
  expect(alone.page?.pixels).toMatchObject({ size: 32, canvas: null });
  // So that of each step's pictures the newest alone is sent; one picture is no stack.
  expect(describe(alone).picture_stacks).toEqual({ obs: 2 });
  expect(describe(definePageGame({ ...rest, pixels: { stack: 1 } })).picture_stacks).toEqual({});
  const both = { pixels: {}, observe: () => ({ speed: [0] }) };
  const beside = definePageGame({ ...rest, ...both, observation: dict({ speed: box({ shape: [1] }) }) });
  expect(describe(beside).picture_stacks).toEqual({ pixels: 4 });
  expect(Object.keys((beside.observation as ReturnType<typeof dict>).spaces)).toEqual(["speed", "pixels"]);
});

test("a page is laid out unless its adapter says that it need not be", () => {
  expect(definePageGame(GIVEN).page?.hidden).toBe(false);
  expect(definePageGame({ ...GIVEN, hidden: true, css: false }).page?.hidden).toBe(true);
});

test("where there is no page it says so", () => {
  expect(() => definePageGame(GIVEN).create()).toThrow(/Hop-v1 lives in the page dist\/index.html/);
});

test.each([
  [{ obsrve: 1 }, "obsrve: unknown option; did you mean observe?"],
  [{ unfinished: ["score"] }, 'unfinished: this adapter lacks score: write it, then delete "unfinished"'],
  [
    { unfinished: ["keys", "observe"] },
    'unfinished: this adapter lacks keys, observe: write them, then delete "unfinished"',
  ],
  [{ unfinished: "score" }, 'unfinished: must be an array of options\' names, got "score"'],
  [{ page: "../index.html" }, "page: must be a page below"],
  [{ page: "/etc/x.html" }, "page: must be a page below"],
  [{ page: "a/../../x.html" }, "page: must be a page below"],
  [{ page: "http://elsewhere/x.html" }, "page: must be a page below"],
  [{ page: "index.js" }, "page: must be a page below"],
  [{ size: [0, 5] }, "size: must be [width, height]"],
  [
    { device: "watch" as "phone" },
    "device: must be one of desktop, desktop@2x, phone, phone-landscape, tablet",
  ],
  [{ ticksPerStep: 1.5 }, "ticksPerStep: must be a whole number"],
  [{ over: undefined }, "over: must be given"],
  [{ observe: undefined }, "observe: must be given, a function of the page's window, or pixels: {}"],
  [{ pixels: true }, "pixels: must be an object such as { size: 84 }, got true"],
  [{ pixels: { sise: 84 } }, "sise: unknown option; did you mean size?"],
  [
    { pixels: { size: 1000 }, observation: undefined, observe: undefined },
    "pixels.size: must be a whole number from 8 to 256, got 1000",
  ],
  [{ pixels: {} }, "observation: beside pixels it is a dict({ ... }) of what else is seen"],
  [{ pixels: {}, observation: undefined }, "observation: beside pixels, observation and observe(window)"],
  [{ pixels: {}, observe: undefined }, "observe: beside pixels, observation and observe(window)"],
  [
    { pixels: {}, observation: dict({ pixels: box({ shape: [1] }) }) },
    'observation: beside pixels it is a dict({ ... }) of what else is seen, without an entry "pixels"',
  ],
  [{ over: true }, "over: must be a function"],
  [{ score: undefined }, "score: give either score or reward"],
  [{ reward: () => 0 }, "score: give either score or reward"],
  [{ reset: "own" }, 'reset: "own" needs restart'],
  [
    { reset: "own", restart: () => undefined, prepare: (_w: unknown, _parameters: unknown) => undefined },
    'prepare: sets the parameters of a page that "own" keeps for the next episode',
  ],
  [{ reset: "never" }, 'reset: must be "own", "over" or "reload"'],
  [{ reset: "over", menu: () => undefined }, 'reset: "over" needs menu(window, page)'],
  [{ actionMask: true }, "allowed: allowed(window) and actionMask"],
  [{ keys: { run: [], jump: ["Space"] } }, 'keys: says nothing of "both"; write both: []'],
  [{ keys: { ...GIVEN.keys, fly: [] } }, "keys.fly: is no label"],
  [{ keys: { ...GIVEN.keys, jump: "Space" } }, "keys.jump: must be an array"],
  [{ keys: [GIVEN.keys, GIVEN.keys] }, "keys: needs one object for each of 1 agents, got 2"],
  [
    { hidden: true, pixels: {}, observation: undefined, observe: undefined },
    "hidden: a page that is not laid out has no pixels: leave out one of the two",
  ],
  [{ hidden: true, pointers: { jump: [1, 2] } }, "hidden: a page that is not laid out has no pointers"],
  [{ hidden: true, css: true }, "hidden: a page that is not laid out has no css"],
  [{ action: multiBinary(2) }, "act: an action that is not discrete"],
  [
    { ...AIMED, pointers: undefined },
    "act: must be given, act(window, action, page), but for a mixed action",
  ],
  [{ ...AIMED, action: mixed({ aim: PLACE, other: PLACE, hop: HOP }) }, "act: must be given"],
  [{ ...AIMED, action: mixed({ aim: PLACE, hop: discrete(2) }) }, "act: must be given"],
  [{ ...AIMED, numAgents: 2 }, "act: must be given"],
  [{ ...AIMED, action: mixed({ aim: PLACE, hop: HOP, run: HOP }) }, 'keys: "run" is the name of two things'],
  [{ ...AIMED, keys: { fly: [] } }, "keys.fly: is no label of the action: run, jump"],
  [
    { ...AIMED, pointers: { aim: "move", fly: "press" } },
    "pointers.fly: is neither aim nor a label: run, jump",
  ],
  [{ ...AIMED, pointers: { aim: [1, 2] } }, "pointers.aim: says what is done at aim, such as"],
  [{ ...AIMED, pointers: { aim: "poke" } }, "pointers.aim: does"],
  [{ ...AIMED, pointers: { aim: "drag" } }, 'pointers.aim: "drag" needs a second place'],
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
