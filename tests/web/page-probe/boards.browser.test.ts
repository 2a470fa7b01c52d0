/** Boards of elements: which elements are one, by which marks their cells differ, and what an adapter reads of them. */

import { expect, test } from "vitest";
import { isMark, marksIn } from "../../../web/page-probe/src/boards.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../support/blank-page.ts";

function open(html: string): PageWindow {
  const window = blankPage();
  window.document.body.innerHTML = html;
  return window;
}

const STYLE =
  "<style>.grid { width: 30px; display: flex; flex-wrap: wrap } .grid * { width: 10px; height: 10px }</style>";

function board(cells: readonly string[]): string {
  return `<div class="grid">${cells.map((cell) => `<div ${cell}></div>`).join("")}</div>`;
}

const CELLS = ['class="frog"', 'class="car left"', "", "", "", "", "", "", 'class="car"'];

function readingsOf(window: PageWindow): Record<string, unknown> {
  return Object.fromEntries(marksIn(window).map((place) => [place.text, place.read(window)]));
}

test.each([
  ["laid out", STYLE],
  ["without its style sheet, which could not be had", ""],
])("what marks the cells of a board is read, mark by mark: %s", (_, style) => {
  const window = open(style + board(CELLS));
  expect(readingsOf(window)).toEqual({
    'marked(w, ".grid > *", ".frog")': [9, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    'marked(w, ".grid > *", ".car")': [9, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1],
    'marked(w, ".grid > *", ".left")': [9, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
  });
  const [frog] = marksIn(window);
  expect(isMark(frog)).toBe(true);
  const before = frog.read(window);
  expect(frog.read(window)).toBe(before);
  const cells = window.document.querySelectorAll(".grid > *");
  cells[0].classList.remove("frog");
  cells[4].classList.add("frog");
  expect(frog.read(window)).toEqual([9, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
});

test("cells in rows, and those that are painted or hold something", () => {
  const row = "<tr><td></td><td></td><td></td></tr>";
  const window = open(`<table id="field"><tbody>${row.repeat(3)}</tbody></table>`);
  const cells = window.document.querySelectorAll("td");
  cells[1].style.background = "red";
  cells[8].innerHTML = "<img>";
  expect(readingsOf(window)).toEqual({
    'marked(w, "#field > tbody > * > *", "[style*=\\"background\\"]")': [9, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    'marked(w, "#field > tbody > * > *", ":has(*)")': [9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  });
});

test("short texts and pictures are marks: noughts and crosses, cards that lie open", () => {
  const window = open(STYLE + board(new Array(9).fill("")));
  const cells = window.document.querySelectorAll(".grid > *");
  cells[0].textContent = " X ";
  cells[4].textContent = "O";
  cells[5].textContent = "what is too long for a mark";
  cells[8].innerHTML = '<img src="cards/ace.png?v=2">';
  const found = readingsOf(window);
  expect(found['marked(w, ".grid > *", "=X")']).toEqual([9, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  expect(found['marked(w, ".grid > *", "=O")']).toEqual([9, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
  const picture = ':has(img[src*=\\"ace.png\\"])';
  expect(found[`marked(w, ".grid > *", "${picture}")`]).toEqual([9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect(Object.keys(found)).toHaveLength(4);
  const cards = open(`${STYLE}<div class="grid">${'<img src="blank.png">'.repeat(12)}</div>`);
  expect(Object.keys(readingsOf(cards))).toEqual(['marked(w, ".grid > *", "[src*=\\"blank.png\\"]")']);
});

test("a row of buttons, a few cells, and elements of several kinds are no board", () => {
  const buttons = '<nav style="width: 900px">'.concat("<button class=a>x</button>".repeat(12), "</nav>");
  const few = board(CELLS.slice(0, 8)).replace("grid", "few");
  const text = `<main>${"<p class=a>text</p><h2>title</h2>".repeat(8)}</main>`;
  expect(readingsOf(open(STYLE + buttons + few + text))).toEqual({});
});
