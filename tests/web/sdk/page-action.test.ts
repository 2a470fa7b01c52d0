import { expect, test } from "vitest";
import { box, definePageGame, discrete, type PageGameOptions } from "../../../web/sdk/src/page/index.ts";
import { pressAction } from "../../../web/sdk/src/page-action.ts";

const WINDOW = { innerWidth: 800, innerHeight: 600 };

function pressed(options: Partial<PageGameOptions>, action: number | number[], progress = 0): unknown[] {
  const said: unknown[] = [];
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
    stepTick: progress * (options.ticksPerStep ?? 4),
    parameters: {},
    hold: (codes: readonly string[]) => said.push(codes),
    point: (x: number, y: number, isDown: boolean) => said.push([x, y, isDown]),
    rotate: () => undefined,
    lift: () => said.push("lift"),
  };
  pressAction(definition.page!, WINDOW, action, hands, progress);
  return said;
}

test("an action holds its keys, and puts the pointer where it has it", () => {
  const keys = { run: [], jump: ["Space"] };
  expect(pressed({ keys }, 0)).toEqual([[], "lift"]);
  expect(pressed({ keys }, 1)).toEqual([["Space"], "lift"]);
  const pointers = { run: [1, 2, "move"], jump: [3, 4] } as const;
  expect(pressed({ pointers }, 0)).toEqual([[1, 2, false]]);
  expect(pressed({ pointers }, 1)).toEqual([[3, 4, true]]);
  expect(pressed({ keys, pointers: { jump: [3, 4] } }, 1)).toEqual([["Space"], [3, 4, true]]);
  // Pressed by the action before, the pointer lets go.
  expect(pressed({ keys, pointers: { jump: [3, 4] } }, 0)).toEqual([[], "lift"]);
});

test("what is tapped is let go halfway through the step", () => {
  const keys = { run: [], jump: ["Space"] };
  const pointers = { jump: [3, 4] } as const;
  const taps = { keys, pointers, taps: true };
  expect(pressed(taps, 1, 0.25)).toEqual([["Space"], [3, 4, true]]);
  expect(pressed(taps, 1, 0.5)).toEqual([[], "lift"]);
  expect(pressed({ ...taps, taps: false }, 1, 0.75)).toEqual([["Space"], [3, 4, true]]);
  expect(() => pressed({ ...taps, ticksPerStep: 1 }, 1)).toThrow("needs a step of two frames at least");
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
  expect(pressed({ click }, 1)).toEqual(["lift", [14, 22, true]]);
  expect(pressed({ click }, 0)).toEqual(["lift", [5, 6, true]]);
  // Where it is at its press: what moves meanwhile is not dragged.
  expect(pressed({ click }, 1, 0.25)).toEqual([]);
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
