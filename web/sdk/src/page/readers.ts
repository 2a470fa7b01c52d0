/** What adapters read of a page with: words, boards of elements, lists and grids as so many numbers. */

import { alerts } from "../../../page-clock/src/dialogs.ts";
import type { PageWindow } from "../page-adapter.ts";
import { elements } from "./elements.ts";
import { gameOf } from "./phaser.ts";

/** The largest number that these give. */
export const LARGEST = 5;
/** A mark that is a text: noughts and crosses, the numbers of mines. */
export const SAYS = "=";

/** Whether one of these words is to be read in the page now, or was said in a dialog; capitals do not matter. */
export function says(window: PageWindow, words: readonly string[]): boolean {
  const shown = [window.document.body.innerText, ...alerts(window)].join("\n").toLowerCase();
  return words.some((word) => shown.includes(word.toLowerCase()));
}

/** Which cells of a board have a mark, a selector or "=" and a text: 1 for each that has, 0 for the others. */
export function marked(window: PageWindow, selector: string, mark: string): number[] {
  const cells: Element[] = elements(window, selector);
  if (!mark.startsWith(SAYS)) return cells.map((cell) => Number(cell.matches(mark)));
  const text = mark.slice(SAYS.length);
  return cells.map((cell) => Number(cell.textContent?.trim() === text));
}

/** The Phaser game of the page, wherever the page keeps it; call it in `prepare` too. */
// biome-ignore lint/suspicious/noExplicitAny: an engine's game is its own affair
export function phaserGame(window: PageWindow): any {
  return gameOf(window);
}

/** All numbers within a value, in their order. */
export function numbersIn(value: unknown): number[] {
  if (typeof value === "number" || typeof value === "boolean") return [Number(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbersIn);
}

/** A number as a share of `scale`, from -5 to 5; 0 for what is none. */
export function near(value: unknown, scale: number): number {
  const share = Number(value) / scale;
  return Number.isNaN(share) ? 0 : Math.max(-LARGEST, Math.min(LARGEST, share));
}

/** The first `count` items of a list, each as `width` numbers; 0 where there are no more. */
export function rows(
  // biome-ignore lint/suspicious/noExplicitAny: what a page's lists hold is its own affair
  list: any,
  count: number,
  width: number,
  // biome-ignore lint/suspicious/noExplicitAny: as above
  numbers: (item: any) => number[],
): number[] {
  const found = [...(list ?? [])]
    .filter((item) => item != null)
    .slice(0, count)
    .flatMap(numbers);
  return [...found, ...new Array(count * width - found.length).fill(0)];
}

/** The cells of a grid, column by column, as shares of `scale`; 0 for what is missing, and for `empty`. */
export function cells(
  // biome-ignore lint/suspicious/noExplicitAny: what a page's cells hold is its own affair
  grid: any,
  columns: number,
  rowsOfEach: number,
  scale: number,
  empty = "",
): number[] {
  return Array.from({ length: columns * rowsOfEach }, (_, i) => {
    const column = grid?.[Math.floor(i / rowsOfEach)];
    return near(cellNumber(Array.isArray(column) ? column[i % rowsOfEach] : column, empty), scale);
  });
}

/** A cell as a number: its value, 1 for what has none, 0 for nothing. */
export function cellNumber(cell: unknown, empty = ""): number {
  if (cell === empty) return 0;
  if (typeof cell === "number" || typeof cell === "boolean") return Number(cell);
  if (typeof cell === "object" && cell !== null) return Number((cell as { value?: unknown }).value ?? 1) || 1;
  return Number(cell) || (cell ? 1 : 0);
}

/** A list's items, the nearest first by how far away each is on both axes. */
// biome-ignore lint/suspicious/noExplicitAny: what a page's lists hold is its own affair
export function nearest(list: any, away: (item: any) => number[]): any[] {
  const items = [...(list ?? [])].filter((item) => item != null);
  const far = new Map(items.map((item) => [item, Math.hypot(...away(item).map((one) => one || 0))]));
  return items.sort((a, b) => Number(far.get(a)) - Number(far.get(b)));
}
