/** Which elements a player may click: by what the page hears, not by what they are called. */

import { expect, test } from "vitest";
import {
  clickGroupsOf,
  heardIn,
  heightForClicks,
  listenersIn,
  noteClicks,
} from "../../../web/page-probe/src/clicks.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "./blank-page.ts";

/** Sizes of the groups of a page, whose script may do as a game's does. */
function groups(html: string, script: (window: PageWindow) => void = () => undefined): number[] {
  const window = blankPage(300, 300);
  const heard = new Set<Element>();
  noteClicks(window, heard);
  window.document.body.innerHTML = `<style>i, b { display: inline-block; width: 20px; height: 20px }</style>${html}`;
  script(window);
  return clickGroupsOf(window, heard).map(({ length }) => length);
}

const CELLS = `<div id="board">${"<i></i>".repeat(9)}</div>`;

function each(window: PageWindow, selector: string, do_: (one: HTMLElement) => void): void {
  for (const one of window.document.querySelectorAll(selector)) do_(one);
}

test("cells of which each hears clicks, by a listener or by a property", () => {
  expect(groups(CELLS)).toEqual([]);
  const heard: string[] = [];
  expect(
    groups(CELLS, (window) => {
      each(window, "i", (one) => one.addEventListener("click", () => heard.push("click")));
      window.document.querySelector("i").click();
    }),
  ).toEqual([9]);
  expect(heard).toEqual(["click"]);
  expect(
    groups(CELLS, (window) =>
      each(window, "i", (one) => {
        one.onmousedown = () => undefined;
      }),
    ),
  ).toEqual([9]);
  expect(groups(CELLS.replaceAll("<i>", '<i onclick="play()">'))).toEqual([9]);
});

test("cells of a board that hears for them, and not the whole page's ", () => {
  const hear = (selector: string) => (window: PageWindow) =>
    each(window, selector, (one) => one.addEventListener("click", () => undefined));
  expect(groups(CELLS, hear("#board"))).toEqual([9]);
  expect(groups("<div id=board><i></i><b></b><i></i><i></i><i></i></div>", hear("#board"))).toEqual([]);
  // A key counts for the page, and so do clicks on all of it.
  expect(groups(CELLS, (window) => window.document.addEventListener("click", () => undefined))).toEqual([]);
  expect(
    groups(CELLS, (window) => each(window, "i", (one) => one.addEventListener("keydown", () => undefined))),
  ).toEqual([]);
});

test("what is not to be seen, too small, alone or far down is no cell; the largest group comes first", () => {
  const hear = (window: PageWindow) =>
    each(window, "i, b", (one) => one.addEventListener("pointerdown", () => undefined));
  expect(groups('<i hidden style="display: none"></i><i></i><i></i>', hear)).toEqual([2]);
  expect(groups('<i style="width: 2px"></i><i></i>', hear)).toEqual([]);
  expect(groups('<i></i><i></i><p style="height: 400px"></p><i></i>', hear)).toEqual([2]);
  expect(groups("<p><b></b><b></b></p><p><i></i><i></i><i></i></p>", hear)).toEqual([3, 2]);
});

test("a window is as high as its cells need, and no higher than 2,000", () => {
  const height = (space: number): number => {
    const window = blankPage(300, 300);
    const heard = new Set<Element>();
    noteClicks(window, heard);
    const row = "<i></i><i></i>";
    window.document.body.innerHTML = `<style>body { margin: 0 } i { display: block; width: 20px; height: 20px }</style>${row}<p style="margin: 0; height: ${space}px"></p>${row}`;
    each(window, "i", (one) => one.addEventListener("click", () => undefined));
    return heightForClicks(window, heard);
  };
  expect([100, 600, 2_400].map(height)).toEqual([300, 680, 300]);
});

test("inputs that a page listens to are named, by listeners and by properties, and nothing else is", () => {
  const window = blankPage(300, 300);
  const inputs = new Map<string, Set<unknown>>();
  noteClicks(window, new Set(), inputs);
  window.document.body.innerHTML = '<b onclick="play()"></b>';
  window.addEventListener("touchstart", () => undefined);
  window.addEventListener("resize", () => undefined);
  window.document.addEventListener("keydown", () => undefined);
  window.onpointerdown = () => undefined;
  window.navigator.getGamepads();
  const names = ["click", "gamepadconnected", "keydown", "pointerdown", "touchstart"];
  expect([...listenersIn(window, inputs).keys()].sort()).toEqual(names);
  expect(listenersIn(window, inputs).get("pointerdown")).toEqual(new Set([window]));
});

test("a hand that nothing listens to, and that no element heeds by itself, does nothing", () => {
  const heard = (html: string, script: (window: PageWindow) => void = () => undefined) => {
    const window = blankPage(300, 300);
    const inputs = new Map<string, Set<unknown>>();
    noteClicks(window, new Set(), inputs);
    window.document.body.innerHTML = html;
    script(window);
    return heardIn(window, listenersIn(window, inputs));
  };
  expect(heard("<canvas></canvas>")).toEqual({ keys: false, pointer: false });
  const keys = { keys: true, pointer: false };
  expect(heard("", (window) => window.addEventListener("keyup", () => undefined))).toEqual(keys);
  expect(heard("", (window) => window.navigator.getGamepads())).toEqual(keys);
  const pointer = { keys: false, pointer: true };
  expect(heard("<div id=a onmousedown='go()'></div>")).toEqual(pointer);
  expect(heard("<form><button>Go</button></form>")).toEqual(pointer);
  const both = { keys: true, pointer: true };
  expect(heard("<input>", (window) => window.document.querySelector("input").focus())).toEqual(both);
  expect(heard("<iframe></iframe>")).toEqual(both);
});
