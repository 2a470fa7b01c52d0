/** What is pressed in a page of which no inputs are known. */

import { expect, test } from "vitest";
import { usualInputs } from "../../../../web/sdk/src/page/usual-inputs.ts";
import type { PageHands } from "../../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../page-probe/blank-page.ts";

/** What an action does in each of `ticks` frames in a page: keys, and elements or places at the pointer where it is pressed. */
function pressed(inputs: ReturnType<typeof usualInputs>, label: string, ticks: number, html = "") {
  const window = blankPage(300, 300);
  window.document.body.innerHTML = html;
  const action = (inputs.action.labels ?? []).indexOf(label);
  const keys = new Set<string>();
  const points: { x: number; y: number; isDown: unknown; id: string }[] = [];
  for (let tick = 0; tick < ticks; tick++) {
    const page = {
      ticks: 1 + tick,
      stepTick: tick % 4,
      hold: (codes: readonly string[]) => codes.forEach((code) => void keys.add(code)),
      point: (x: number, y: number, isDown: unknown) =>
        points.push({ x, y, isDown, id: window.document.elementFromPoint(x, y)?.id ?? "" }),
    } as unknown as PageHands;
    inputs.act(window, action, page);
  }
  return { keys: [...keys], points };
}

test("keys are held, and nothing is pressed with them", () => {
  expect(pressed(usualInputs(), "left", 4)).toEqual({ keys: ["ArrowLeft", "KeyA"], points: [] });
  expect(pressed(usualInputs(), "nothing", 4)).toEqual({ keys: [], points: [] });
});

test("each of nine places is pressed and let go in a step of its own", () => {
  const { points } = pressed(usualInputs(), "press", 36);
  expect(new Set(points.map(({ x, y }) => `${x} ${y}`)).size).toBe(9);
  for (let step = 0; step < 36; step += 4) {
    const own = points.slice(step, step + 4);
    expect(new Set(own.map(({ x, y }) => `${x} ${y}`)).size).toBe(1);
    expect(own.map(({ isDown }) => isDown)).toEqual([true, true, false, false]);
  }
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
  expect(points.slice(0, 4).map(({ isDown }) => isDown)).toEqual([true, true, false, false]);
  expect(pressed(usualInputs(), "button", 8)).toEqual({ keys: [], points: [] });
});

test("a finger swipes from the middle and lets go at the end", () => {
  const { keys, points } = pressed(usualInputs({ touch: true }), "swipe left", 4);
  expect(keys).toEqual([]);
  expect(points[0]).toMatchObject({ x: 150, y: 150, isDown: true });
  expect(points[3]).toMatchObject({ y: 150, isDown: false });
  expect(points[3].x).toBeCloseTo(60);
});
