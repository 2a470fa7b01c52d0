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
  const points: { tick: number; x: number; y: number; isDown: unknown; id: string }[] = [];
  const lifted: number[] = [];
  for (let tick = 0; tick < ticks; tick++) {
    const page = {
      // Menus end in the middle of what would be a step.
      ticks: 6 + tick,
      stepTick: tick % 4,
      hold: (codes: readonly string[]) => codes.forEach((code) => void keys.add(code)),
      point: (x: number, y: number, isDown: unknown) =>
        points.push({ tick, x, y, isDown, id: window.document.elementFromPoint(x, y)?.id ?? "" }),
      lift: () => lifted.push(tick),
    } as unknown as PageHands;
    inputs.act(window, action, page);
  }
  return { keys: [...keys], points, lifted };
}

test("keys are held, and nothing is pressed with them", () => {
  expect(pressed(usualInputs(), "left", 4)).toMatchObject({ keys: ["ArrowLeft", "KeyA"], points: [] });
  expect(pressed(usualInputs(), "nothing", 4)).toMatchObject({ keys: [], points: [] });
});

test("each of nine places is pressed and let go in a step of its own", () => {
  const { points, lifted } = pressed(usualInputs(), "press", 36);
  expect(points.map(({ tick }) => tick)).toEqual([0, 4, 8, 12, 16, 20, 24, 28, 32]);
  expect(lifted).toEqual([2, 6, 10, 14, 18, 22, 26, 30, 34]);
  expect(new Set(points.map(({ x, y }) => `${x} ${y}`)).size).toBe(9);
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
  expect(points.every(({ isDown }) => isDown === true)).toBe(true);
  expect(pressed(usualInputs(), "button", 8)).toMatchObject({ keys: [], points: [] });
  const four = "<button id=a>A</button><button id=b>B</button><button id=c>C</button><button id=d>D</button>";
  const all = pressed(usualInputs(), "button", 16, four).points.map(({ id }) => id);
  expect(all.sort()).toEqual(["a", "b", "c", "d"]);
});

test("a finger swipes from the middle and lets go at the end", () => {
  const { keys, points } = pressed(usualInputs({ touch: true }), "swipe left", 4);
  expect(keys).toEqual([]);
  expect(points[0]).toMatchObject({ x: 150, y: 150, isDown: true });
  expect(points[3]).toMatchObject({ y: 150, isDown: false });
  expect(points[3].x).toBeCloseTo(60);
});
