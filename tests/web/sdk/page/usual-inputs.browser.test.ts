/** What is pressed in a page of which no inputs are known. */

import { expect, test } from "vitest";
import { usualInputs } from "../../../../web/sdk/src/page/usual-inputs.ts";
import type { PageHands } from "../../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../../support/blank-page.ts";

/** What an action does in `ticks` frames in a page: keys that it holds, and by frame what the pointer does and the element there. */
function pressed(inputs: ReturnType<typeof usualInputs>, label: string, ticks: number, html = "") {
  const window = blankPage(300, 300);
  window.document.body.innerHTML = html;
  const action = (inputs.action.labels ?? []).indexOf(label);
  const keys = new Set<string>();
  const points: { tick: number; x: number; y: number; how: unknown; id: string }[] = [];
  const lifted: number[] = [];
  let tick = 0;
  const page = {
    // Menus end in the middle of what would be a step.
    get ticks() {
      return 6 + tick;
    },
    get stepTick() {
      return tick % 4;
    },
    hold: (codes: readonly string[]) => codes.forEach((code) => void keys.add(code)),
    point: (x: number, y: number, how: unknown) =>
      points.push({ tick, x, y, how, id: window.document.elementFromPoint(x, y)?.id ?? "" }),
    lift: () => lifted.push(tick),
  } as unknown as PageHands;
  for (; tick < ticks; tick++) inputs.act(window, action, page);
  return { keys: [...keys], points, lifted };
}

test("keys are held, and nothing is pressed with them", () => {
  expect(pressed(usualInputs(), "left", 4)).toMatchObject({ keys: ["ArrowLeft", "KeyA"], points: [] });
  expect(pressed(usualInputs(), "nothing", 4)).toMatchObject({ keys: [], points: [] });
});

test("each of nine places is pressed and let go in a step of its own", () => {
  const { points, lifted } = pressed(usualInputs(), "press", 36);
  const [begins, onward] = [0, 1].map((at) => points.filter(({ tick }) => tick % 4 === at));
  expect(begins.map(({ tick }) => tick)).toEqual([0, 4, 8, 12, 16, 20, 24, 28, 32]);
  expect(onward.map(({ x, y, how }) => [x, y, how])).toEqual(begins.map(({ x, y }) => [x, y, "press"]));
  expect(points).toHaveLength(18);
  expect(lifted.filter((tick) => tick % 4 === 2)).toEqual([2, 6, 10, 14, 18, 22, 26, 30, 34]);
  expect(new Set(points.map(({ x, y }) => `${x} ${y}`)).size).toBe(9);
});

test("cells of a board are pressed in every second step, whether they look like it or not", () => {
  const cell = (i: number): string => `<i id="${i}" style="display: block; width: 40px; height: 20px"></i>`;
  const { points } = pressed(usualInputs(), "press", 64, [0, 1, 2, 3].map(cell).join(""));
  const ids = points.filter(({ tick }) => tick % 8 === 0).map(({ id }) => id);
  expect(new Set(ids)).toEqual(new Set(["0", "1", "2", "3"]));
});

test("nothing is pressed or dragged where a link to another page lies", () => {
  const html = `<style>body { margin: 0 } li, a, b { display: block; width: 60px; height: 40px }</style>
    <ul style="margin: 0; padding: 0"><li><a id="away" href="other.html"></a></li></ul><b id="cell"></b>`;
  const ids = ["press", "drag"].flatMap((label) =>
    pressed(usualInputs(), label, 160, html).points.flatMap(({ tick, id }) => (tick % 4 === 0 ? [id] : [])),
  );
  expect(ids).toContain("cell");
  expect(ids).not.toContain("away");
});

test("buttons are those that are shown, work, look like it and lead to no other page", () => {
  const html = `<style>body > * { display: block; width: 40px; height: 20px } .hand { cursor: pointer }</style>
    <button id="again">Play again</button><button id="off" disabled>Off</button>
    <button id="hidden" style="visibility: hidden">Hidden</button><input id="file" type="file">
    <a id="away" href="other.html" class="hand">Other</a><a id="menu" href="#menu" class="hand">Menu</a>
    <div id="card" class="hand"><b id="inner" style="display: block; height: 0">A</b></div><div id="text">Text</div>
    <button id="below" style="position: absolute; top: 900px">Below</button>`;
  const { points } = pressed(usualInputs(), "button", 40, html);
  expect(new Set(points.map(({ id }) => id))).toEqual(new Set(["again", "menu", "card"]));
  expect(points.every(({ how }) => how === "press")).toBe(true);
  expect(pressed(usualInputs(), "button", 8)).toMatchObject({ keys: [], points: [] });
  const four = "<button id=a>A</button><button id=b>B</button><button id=c>C</button><button id=d>D</button>";
  const all = pressed(usualInputs(), "button", 16, four).points.map(({ id }) => id);
  // Each in a step of its own, pressed for two frames.
  expect(all.sort()).toEqual(["a", "a", "b", "b", "c", "c", "d", "d"]);
});

test("a finger swipes from the middle and lets go at the end", () => {
  const { keys, points } = pressed(usualInputs({ touch: true }), "swipe left", 4);
  expect(keys).toEqual([]);
  expect(points[0]).toMatchObject({ x: 150, y: 150, how: "drag" });
  expect(points[3]).toMatchObject({ y: 150, how: "move" });
  expect(points[3].x).toBeCloseTo(60);
});

/** Where each step's drag begins and ends. */
function drags(html: string, steps: number): string[] {
  const { points } = pressed(usualInputs(), "drag", 4 * steps, html);
  expect(points.map(({ how }) => how)).toEqual(points.map(({ tick }) => (tick % 4 < 2 ? "drag" : "move")));
  const at = (step: number, tick: number) => points.find((point) => point.tick === 4 * step + tick)?.id;
  return Array.from({ length: steps }, (_, step) => `${at(step, 0)} to ${at(step, 3)}`);
}

test("each small thing is dragged to neighbours and to all others", () => {
  const board = Array.from({ length: 9 }, (_, i) => `<i id="${i}"></i>`).join("");
  const html = `<style>body { margin: 0 } main { display: grid; grid: repeat(3, 60px) / repeat(3, 60px) } i { margin: 5px }</style>
    <main>${board}</main><p style="visibility: hidden">Hidden</p>`;
  const found = drags(html, 300);
  expect(new Set(found).size).toBe(72);
  expect(found.every((drag) => /^\d to \d$/.test(drag))).toBe(true);
  const isNear = (drag: string): boolean => {
    const [from, to] = drag.split(" to ").map(Number);
    return Math.abs((from % 3) - (to % 3)) + Math.abs(Math.floor(from / 3) - Math.floor(to / 3)) < 3;
  };
  expect(found.filter(isNear).length).toBeGreaterThan(200);
});

test("what is made to be dragged is, and nothing else; else what is at places, as of a canvas", () => {
  const look = "position: absolute; width: 40px; height: 40px";
  const html = `<div id="card" draggable="true" style="${look}; left: 20px; top: 20px"><b style="display: block; height: 40px"></b></div>
    <div id="piece" style="${look}; left: 100px; top: 20px; cursor: grab"></div>
    <div id="goal" style="${look}; left: 180px; top: 20px"></div><div id="home" style="${look}; left: 180px; top: 100px"></div>`;
  const found = new Set(drags(html, 60).map((drag) => drag.split(" to ")[0]));
  // The card by what lies on it.
  expect(found).toEqual(new Set(["", "piece"]));
  expect(new Set(drags(html, 60).map((drag) => drag.split(" to ")[1]))).toContain("goal");
  const canvas = drags(
    '<canvas id="all" width="300" height="300" style="position: absolute; inset: 0"></canvas>',
    4,
  );
  expect(new Set(canvas)).toEqual(new Set(["all to all"]));
});
