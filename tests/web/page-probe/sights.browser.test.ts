/** Texts, buttons and things of a page, each with its place. */

import { expect, test } from "vitest";
import { noteClicks } from "../../../web/page-probe/src/clicks.ts";
import {
  beyondSeen,
  buttonsSeen,
  framesSeen,
  textsSeen,
  thingsSeen,
} from "../../../web/page-probe/src/sights.ts";
import { drawn } from "../../../web/sdk/src/page/drawn.ts";
import { elements } from "../../../web/sdk/src/page/elements.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../support/blank-page.ts";

const AT = "position: absolute; width: 40px; height: 20px; border: 0; padding: 0; margin: 0;";

function opened(html: string, clickable = new Set<Element>()): PageWindow {
  const page = blankPage(400, 300);
  noteClicks(page, clickable);
  drawn(page);
  page.document.body.innerHTML = html;
  return page;
}

test("visible elements say their own texts, in the middle of where they are", () => {
  const page =
    opened(`<div style="${AT} left: 10px; top: 30px">Score: <b style="${AT} left: 0; top: 100px">40</b></div>
    <p style="opacity: 0">unseen</p><p hidden>hidden</p><style>p {}</style><p>  </p>
    <input style="${AT} left: 100px; top: 0" value="Ada&#27;[31m">`);
  expect(textsSeen(page)).toEqual([
    { text: "Score:", x: 30, y: 40, on: "element" },
    { text: "40", x: 30, y: 140, on: "element" },
    { text: "Ada [31m", x: 120, y: 10, on: "element" },
  ]);
});

test("what stands within a canvas for browsers without one is not shown", () => {
  const page = opened(`<canvas style="${AT}">HTML5 canvas appears to be unsupported<p>here</p></canvas>`);
  expect(textsSeen(page)).toEqual([]);
});

test("what is written on a canvas is seen once, where that canvas is", () => {
  const page = opened(
    `<canvas width="200" height="100" style="position: absolute; left: 50px; top: 20px"></canvas>`,
  );
  const context = page.document.querySelector("canvas").getContext("2d");
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < 3; i++) context.fillText("GAME OVER", 100, 50);
  const [text, ...others] = textsSeen(page);
  expect(text).toMatchObject({ text: "GAME OVER", on: "canvas" });
  expect(Math.abs(text.x - 150)).toBeLessThan(10);
  expect(Math.abs(text.y - 70)).toBeLessThan(10);
  expect(others).toEqual([]);
});

test("buttons have a selector that finds them, and cells that handle clicks are one button of several", () => {
  const clickable = new Set<Element>();
  const cells = Array.from(
    { length: 9 },
    (_, i) => `<i class="cell" style="${AT} left: ${40 * i}px; top: 50px"></i>`,
  );
  const page = opened(
    `<button id="go" style="${AT} left: 0; top: 0">PLAY</button><button hidden>Help</button>${cells.join("")}`,
    clickable,
  );
  for (const cell of page.document.querySelectorAll(".cell")) cell.addEventListener("click", () => undefined);
  expect(buttonsSeen(page, clickable)).toEqual([
    { selector: "#go", text: "PLAY", x: 20, y: 10, count: 1 },
    { selector: ".cell", text: "", x: 20, y: 60, count: 9 },
  ]);
});

test("a drawn button has a place and no selector", () => {
  const page = opened(`<canvas width="200" height="100"></canvas>`);
  page.document.querySelector("canvas").getContext("2d").fillText("START GAME", 60, 50);
  const [button] = buttonsSeen(page, []);
  expect(button).toMatchObject({ selector: null, text: "START GAME", count: 1 });
});

test("things have their look, number and the place of the first", () => {
  const page = opened(`<canvas width="200" height="100"></canvas>`);
  const context = page.document.querySelector("canvas").getContext("2d");
  context.fillStyle = "#00ffff";
  context.fillRect(80, 40, 20, 10);
  context.fillRect(120, 40, 20, 10);
  expect(thingsSeen(page)).toEqual([
    { look: "rect #00ffff 20x10", count: 2, x: 0.45, y: 0.45, width: 0.1, height: 0.1 },
  ]);
});

test("pages in visible frames are named", () => {
  const page = opened(
    `<iframe src="game/index.html"></iframe><iframe></iframe><iframe src="ads.html" hidden></iframe>`,
  );
  expect(framesSeen(page)).toEqual([
    "shows game/index.html in a frame: look at that page by itself",
    "shows a page in a frame: look at that page by itself",
  ]);
});

test("a page that is larger than its window is named with the size that shows all, unless it hides the rest", () => {
  const page = opened(`<p style="height: 700px; margin: 0">long</p>`);
  page.document.body.style.margin = "0";
  expect(beyondSeen(page)).toEqual(["has 400 x 700 pixels, more than the window: --size 400,700 shows all"]);
  page.document.body.style.overflow = "hidden";
  expect(beyondSeen(page)).toEqual([]);
  expect(beyondSeen(opened(`<p style="height: 100px">short</p>`))).toEqual([]);
});

test("what lies in shadow roots and in frames is seen, with selectors that lead there", () => {
  const clickable = new Set<Element>();
  const page = opened(
    `<p id="host" style="${AT} left: 10px; top: 20px"></p>
     <iframe id="inner" style="position: absolute; left: 100px; top: 50px; border: 3px solid; width: 200px; height: 90px"></iframe>`,
    clickable,
  );
  const html = (word: string) =>
    `<b style="${AT} left: 0; top: 0">${word}</b><button style="${AT} left: 0; top: 30px">Go</button>`;
  page.document.querySelector("#host").attachShadow({ mode: "open" }).innerHTML = html("5 coins");
  page.document.querySelector("#inner").contentDocument.body.innerHTML = html("7 lives");
  expect(textsSeen(page).map(({ text, x, y }) => [text, x, y])).toEqual([
    ["5 coins", 30, 30],
    ["Go", 30, 60],
    ["7 lives", 123, 63],
    ["Go", 123, 93],
  ]);
  const buttons = buttonsSeen(page, clickable).map(({ selector, x, y }) => [selector, x, y]);
  expect(buttons).toEqual([
    ["#host >>> button", 30, 60],
    ["#inner >>> button", 123, 93],
  ]);
  expect(elements(page, "#host >>> :host > :nth-child(2)")[0]?.textContent).toBe("Go");
});
