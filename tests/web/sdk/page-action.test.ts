import { expect, test } from "vitest";
import {
  box,
  definePageGame,
  discrete,
  mixed,
  type PageGameOptions,
} from "../../../web/sdk/src/page/index.ts";
import { pressAction } from "../../../web/sdk/src/page-action.ts";
import type { PointerPlace } from "../../../web/sdk/src/page-adapter.ts";
import type { GivenAction } from "../../../web/sdk/src/values.ts";

const WINDOW = { innerWidth: 800, innerHeight: 600 };

/** What hands are given at `progress` of a step. */
function pressed(options: Partial<PageGameOptions>, action: GivenAction, progress = 0): unknown[] {
  let said: unknown[] = [];
  const definition = definePageGame({
    id: "Hop-v1",
    page: "index.html",
    observation: box({ shape: [1] }),
    action: discrete(["run", "jump"]),
    observe: () => [0],
    score: () => 0,
    over: () => false,
    ...options,
  });
  const hands = {
    ticks: 3,
    stepTick: 0,
    parameters: {},
    hold: (codes: readonly string[]) => said.push(codes),
    point: (...given: unknown[]) => said.push(given.filter((one) => one !== undefined)),
    rotate: () => undefined,
    lift: () => said.push("lift"),
  };
  const ticksPerStep = options.ticksPerStep ?? 4;
  for (hands.stepTick = 0; hands.stepTick <= progress * ticksPerStep; hands.stepTick++) {
    said = [];
    pressAction(definition.page!, WINDOW, action, hands, hands.stepTick / ticksPerStep);
  }
  return said;
}

test("an action holds its keys, and puts the pointer where it has it", () => {
  const keys = { run: [], jump: ["Space"] };
  expect(pressed({ keys }, 0)).toEqual([[], "lift"]);
  expect(pressed({ keys }, 1)).toEqual([["Space"], "lift"]);
  const pointers = { run: [1, 2, "move"], jump: [3, 4] } as const;
  expect(pressed({ pointers }, 0)).toEqual([[1, 2, "move"]]);
  expect(pressed({ pointers }, 1)).toEqual([[3, 4, "press"]]);
  expect(pressed({ keys, pointers: { jump: [3, 4] } }, 1)).toEqual([["Space"], [3, 4, "press"]]);
  // Pressed by the action before, the pointer lets go.
  expect(pressed({ keys, pointers: { jump: [3, 4] } }, 0)).toEqual([[], "lift"]);
});

test("what is tapped is let go halfway through the step", () => {
  const keys = { run: [], jump: ["Space"] };
  const pointers = { jump: [3, 4] } as const;
  const taps = { keys, pointers, taps: true };
  expect(pressed(taps, 1, 0.25)).toEqual([["Space"], [3, 4, "press"]]);
  expect(pressed(taps, 1, 0.5)).toEqual([[], "lift"]);
  expect(pressed({ ...taps, taps: false }, 1, 0.75)).toEqual([["Space"], [3, 4, "press"]]);
  expect(() => pressed({ ...taps, ticksPerStep: 1 }, 1)).toThrow("needs a step of two frames at least");
});

test("a mixed action is a place of the pointer, and choices that press there", () => {
  const shooter: Partial<PageGameOptions> = {
    action: mixed({
      aim: box({ shape: [2], low: 0, high: [800, 600] }),
      button: discrete(["hold", "fire", "alt"]),
      legs: discrete(["stand", "run"]),
    }),
    keys: { run: ["ShiftLeft"], alt: ["KeyE"] },
    pointers: { aim: "move", fire: "press", alt: "right" },
  };
  const aim = Float32Array.of(400, 300);
  expect(pressed(shooter, { aim, button: 0, legs: 0 })).toEqual([[], [400, 300, "move"]]);
  expect(pressed(shooter, { aim, button: 1, legs: 1 })).toEqual([["ShiftLeft"], [400, 300, "press"]]);
  expect(pressed(shooter, { aim, button: 2, legs: 1 })).toEqual([
    ["KeyE", "ShiftLeft"],
    [400, 300, "right"],
  ]);
  expect(pressed({ ...shooter, taps: true }, { aim, button: 1, legs: 1 }, 0.5)).toEqual([[], "lift"]);
});

test("of several agents all keys are held at once", () => {
  const keys = [
    { run: [], jump: ["KeyW"] },
    { run: ["ArrowDown"], jump: ["ArrowUp"] },
  ];
  expect(pressed({ numAgents: 2, keys }, [1, 0])).toEqual([["KeyW", "ArrowDown"]]);
});

test("what is clicked is pressed at the step's first tick and let go in its second half", () => {
  const cell = { getBoundingClientRect: () => ({ left: 10, top: 20, width: 8, height: 4 }) as DOMRect };
  const click: PageGameOptions["click"] = (_w, action) => (action === 1 ? cell : { x: 5, y: 6 });
  expect(pressed({ click }, 1)).toEqual(["lift", [14, 22, "press"]]);
  expect(pressed({ click }, 0)).toEqual(["lift", [5, 6, "press"]]);
  // Where it is at its press: what moves meanwhile is not dragged.
  expect(pressed({ click }, 1, 0.25)).toEqual([[14, 22, "press"]]);
  expect(pressed({ click }, 1, 0.5)).toEqual(["lift"]);
  expect(pressed({ click }, 1, 0.75)).toEqual(["lift"]);
});

test("nothing is clicked where the adapter names nothing, or an element without a size", () => {
  const hidden = { getBoundingClientRect: () => ({ left: 0, top: 0, width: 0, height: 0 }) as DOMRect };
  for (const target of [null, undefined, hidden])
    expect(pressed({ click: () => target }, 1)).toEqual(["lift"]);
});

test("an adapter that clicks needs a step of two ticks, a page that is laid out, and no act", () => {
  const click = () => null;
  expect(() => pressed({ click, ticksPerStep: 1 }, 1)).toThrow("click: needs a step of two frames");
  expect(() => pressed({ click, act: () => undefined }, 1)).toThrow("click: give either click or act");
  expect(() => pressed({ click, hidden: true }, 1)).toThrow(
    "hidden: a page that is not laid out has no click",
  );
});

test("an adapter's own act gets the window, the action and the hands", () => {
  const given: unknown[] = [];
  const act: PageGameOptions["act"] = (w, action, page) => given.push(w, action, page.ticks);
  expect(pressed({ act }, 1)).toEqual([]);
  expect(given).toEqual([WINDOW, 1, 3]);
});

test("what the pointer does is a row of one table: how, and where to", () => {
  const cell = { getBoundingClientRect: () => ({ left: 10, top: 20, width: 8, height: 4 }) as DOMRect };
  const at = (progress: number, ...place: unknown[]): unknown[] =>
    pressed({ pointers: { run: [0, 0], jump: place as unknown as PointerPlace }, touch: true }, 1, progress);
  expect(at(0.75, 3, 4, "right")).toEqual([[3, 4, "right"]]);
  // A wheel turns once a step.
  expect([0, 0.25].map((progress) => at(progress, 3, 4, "wheel-up"))).toEqual([
    [[3, 4, "wheel-up"]],
    [[3, 4, "move"]],
  ]);
  expect([0, 0.25, 0.5].map((progress) => at(progress, 0, 0, "drag", [8, 4]))).toEqual([
    [[0, 0, "drag"]],
    [[4, 2, "drag"]],
    [[8, 4, "move"]],
  ]);
  expect([0, 0.5].map((progress) => at(progress, 100, 9, "pinch-out"))).toEqual([
    [[80, 9, "pinch-out", [120, 9]]],
    [[20, 9, "move", [180, 9]]],
  ]);
  expect(at(0, 1, 2, "two", [3, 4])).toEqual([[1, 2, "two", [3, 4]]]);
  const click: PageGameOptions["click"] = () => [cell, "drag", { x: 54, y: 62 }];
  expect(pressed({ click }, 1, 0.25)).toEqual([[34, 42, "drag"]]);
  expect(() => at(0, 1, 2, "tickle")).toThrow('pointers.jump: does "tickle": none of press, move, right');
  expect(() => at(0, 1, 2, "drag")).toThrow('pointers.jump: "drag" needs a second place');
  expect(() => pressed({ pointers: { run: [0, 0], jump: [1, 2, "pinch-in"] } }, 1)).toThrow(
    "give touch: true",
  );
  const drag = { pointers: { run: [0, 0], jump: [1, 2, "drag", [3, 4]] } } as const;
  expect(() => pressed({ ...drag, ticksPerStep: 1 }, 1)).toThrow("needs a step of two frames at least");
});
