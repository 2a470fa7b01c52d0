/** Boards that are made of elements: cells that are alike, and the marks by which they differ. */

import type { PageWindow } from "attract/page-adapter";
import { elements, everyIn } from "../../sdk/src/page/elements.ts";
import { marked, SAYS } from "../../sdk/src/page/readers.ts";
import type { Place } from "./places.ts";
import { selectorOf } from "./roots.ts";

const MIN_CELLS = 9;
const MAX_CELLS = 1_024;
const MAX_BOARDS = 3;
const MAX_SELECTORS = 24;
const CALL = "marked(w, ";
const LONGEST_TEXT = 3;

/** The cells of a board, which a selector finds. */
interface Board {
  readonly selector: string;
  readonly cells: readonly HTMLElement[];
}

/** Whether it says which cells of a board have a mark. */
export function isMark({ text }: Place): boolean {
  return text.startsWith(CALL);
}

/** Which cells have which mark now: a class, a background, a picture, a short text or another content of their own. */
export function marksIn(window: PageWindow): Place[] {
  return boardsIn(window).flatMap(({ selector, cells }) =>
    marksOf(cells).map((mark): Place => {
      // Most frames change nothing: they share what they found.
      let last: number[] = [];
      return {
        text: `${CALL}${JSON.stringify(selector)}, ${JSON.stringify(mark)})`,
        name: mark,
        kind: "grid",
        fields: [],
        isShown: true,
        read: (page) => {
          const found = marked(page, selector, mark);
          const now = [found.length, 1, ...found];
          if (now.length !== last.length || now.some((value, i) => value !== last[i])) last = now;
          return last;
        },
      };
    }),
  );
}

function boardsIn(window: PageWindow): Board[] {
  const boards: Board[] = [];
  for (const parent of everyIn(window)) {
    const own = selectorOf(window, parent);
    if (own === null || boards.some(({ cells }) => cells.some((cell) => cell.contains(parent)))) continue;
    for (const cells of ["> *", "> * > *"]) {
      const selector = `${own} ${cells}`;
      const found = elements(window, selector);
      if (!isBoard(found)) continue;
      boards.push({ selector, cells: found });
      break;
    }
  }
  return boards.sort((a, b) => b.cells.length - a.cells.length).slice(0, MAX_BOARDS);
}

/** Whether the cells are of one kind and one size, in rows and columns. */
function isBoard(cells: readonly HTMLElement[]): boolean {
  if (cells.length < MIN_CELLS || cells.length > MAX_CELLS) return false;
  const [{ tagName, offsetWidth, offsetHeight }] = cells;
  const isAlike = cells.every(
    (cell) =>
      cell.tagName === tagName &&
      Math.abs(cell.offsetWidth - offsetWidth) <= 2 &&
      Math.abs(cell.offsetHeight - offsetHeight) <= 2,
  );
  // Without its style sheet, what is empty takes no room, and is a board still.
  if (isAlike && (offsetWidth === 0 || offsetHeight === 0)) return true;
  const columns = new Set(cells.map((cell) => cell.offsetLeft));
  const rows = new Set(cells.map((cell) => cell.offsetTop));
  return isAlike && columns.size > 1 && rows.size > 1 && columns.size * rows.size <= 2 * cells.length;
}

/** Selectors that some cells match and others do not, or may not match later. */
function marksOf(cells: readonly HTMLElement[]): string[] {
  const marks = new Set<string>();
  const view = cells[0].ownerDocument.defaultView as PageWindow;
  for (const cell of cells) {
    for (const name of cell.classList) marks.add(`.${CSS.escape(name)}`);
    if (cell.style.background !== "") marks.add('[style*="background"]');
    if (cell.childElementCount > 0) marks.add(":has(*)");
    const text = cell.textContent?.trim() ?? "";
    if (text.length > 0 && text.length <= LONGEST_TEXT) marks.add(SAYS + text);
    const picture = cell instanceof view.HTMLImageElement ? cell : cell.querySelector("img");
    const file = picture?.getAttribute("src")?.split(/[?#]/)[0].split("/").at(-1) ?? "";
    const own = `[src*=${JSON.stringify(file)}]`;
    if (file !== "" && !file.startsWith("data:")) marks.add(picture === cell ? own : `:has(img${own})`);
  }
  return [...marks].slice(0, MAX_SELECTORS);
}
