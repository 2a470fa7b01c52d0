/** What a player sees of a page and may click: texts, buttons and drawn things, each with its place. */

import { middleOf } from "attract/page-action";
import type { PageWindow } from "attract/page-adapter";
import type { LookButton, LookText, LookThing } from "../../schema/src/api.gen.ts";
import { elements, everyIn } from "../../sdk/src/page/elements.ts";
import { spot, spotsIn } from "../../sdk/src/page/spot.ts";
import { clickGroupsOf } from "./clicks.ts";
import { drawnIn, isDrawnThing } from "./drawn-places.ts";
import { numberOf, wordsOf } from "./json-value.ts";
import { classesOf, withinOf } from "./roots.ts";
import { BUTTONS, drawnButtons, pathOf, shownButtons } from "./start-actions.ts";

const MAX_SEEN = 300;
/** What is written in these is not shown, or for a browser that cannot show them. */
const REPLACED = ":is(canvas, video, audio, object, iframe)";
const UNREAD = `script, style, noscript, template, ${REPLACED}, ${REPLACED} *`;
const SHOWN = { opacityProperty: true, visibilityProperty: true };
const TEXT_NODE = 3;
const LONGEST_BUTTON = 80;

/** Texts of visible elements in the document's order, then those on canvases. */
export function textsSeen(window: PageWindow): LookText[] {
  const found: LookText[] = [];
  for (const element of everyIn(window)) {
    if (found.length === MAX_SEEN) return found;
    const text = wordsOf(ownText(element));
    if (text === "" || element.matches(UNREAD) || !element.checkVisibility(SHOWN)) continue;
    const middle = placeOf(element, window);
    if (middle !== null) found.push({ text, ...middle, on: "element" });
  }
  const known = new Set<string>();
  for (const { name, place } of spotsIn(window)) {
    const text = wordsOf(name);
    const [x, y] = place.map(Math.round);
    const key = `${text} ${x} ${y}`;
    if (found.length === MAX_SEEN || text === "" || known.has(key) || !isPlace(x, y)) continue;
    known.add(key);
    found.push({ text, x, y, on: "canvas" });
  }
  return found;
}

/** Buttons and links, what is drawn like one, and groups of elements that handle clicks. */
export function buttonsSeen(window: PageWindow, clickable: Iterable<Element>): LookButton[] {
  const found: LookButton[] = [];
  for (const { button } of shownButtons(window, BUTTONS)) {
    const middle = placeOf(elements(window, button.selector)[0], window);
    const text = wordsOf(button.text, LONGEST_BUTTON);
    if (middle !== null) found.push({ selector: button.selector, text, ...middle, count: 1 });
  }
  const known = new Set(found.map(({ selector }) => elements(window, selector as string)[0]));
  for (const group of clickGroupsOf(window, clickable)) {
    const [first] = group;
    const middle = placeOf(first, window);
    if (known.has(first) || middle === null) continue;
    known.add(first);
    const [name] = classesOf(first).split(/\s+/);
    const within = name ? withinOf(window, first) : null;
    const selector = within === null ? pathOf(window, first) : `${within}.${window.CSS.escape(name)}`;
    found.push({
      selector,
      text: wordsOf(first.textContent, LONGEST_BUTTON),
      ...middle,
      count: group.length,
    });
  }
  for (const name of drawnButtons(window)) {
    const [x, y] = (spot(window, name) ?? []).map(Math.round);
    if (isPlace(x, y)) found.push({ selector: null, text: wordsOf(name, LONGEST_BUTTON), x, y, count: 1 });
  }
  return found.slice(0, MAX_SEEN);
}

/** Things by their looks, those of which there are none now left out. */
export function thingsSeen(window: PageWindow): LookThing[] {
  return drawnIn(window)
    .filter(isDrawnThing)
    .flatMap((place) => {
      const [count, x, y, , , width, height] = place.read(window) as readonly number[];
      const [across, down, wide, high] = [x, y, width, height].map(numberOf);
      if (across == null || down == null || wide == null || high == null) return [];
      return [{ look: wordsOf(place.name), count, x: across, y: down, width: wide, height: high }];
    });
}

/** Notes about pages in visible frames, which `look` does not enter. */
export function framesSeen(window: PageWindow): string[] {
  return everyIn(window, "iframe, frame")
    .filter((frame) => frame.checkVisibility(SHOWN))
    .map((frame) => `shows ${frame.getAttribute("src") ?? "a page"} in a frame: look at that page by itself`);
}

/** That some of the page lies beyond the window's edges: at most one. */
export function beyondSeen(window: PageWindow): string[] {
  const { innerWidth, innerHeight, document, getComputedStyle } = window;
  const page = document.scrollingElement as HTMLElement | null;
  if (page === null) return [];
  const isHidden = /hidden|clip/.test(
    getComputedStyle(page).overflow + getComputedStyle(document.body).overflow,
  );
  const [width, height] = [Math.max(page.scrollWidth, innerWidth), Math.max(page.scrollHeight, innerHeight)];
  if (isHidden || (width === innerWidth && height === innerHeight)) return [];
  return [`has ${width} x ${height} pixels, more than the window: --size ${width},${height} shows all`];
}

/** What is written in the element itself, not in those within. */
function ownText(element: HTMLElement): string {
  const { value, placeholder } = element as HTMLInputElement;
  if (element.matches("input, textarea")) return value || placeholder;
  return [...element.childNodes]
    .map((node) => (node.nodeType === TEXT_NODE ? (node.textContent ?? "") : " "))
    .join("");
}

function placeOf(element: HTMLElement, window: PageWindow): { x: number; y: number } | null {
  const [x, y] = middleOf(element, window)?.map(Math.round) ?? [];
  return isPlace(x, y) && isPlace(y, x) ? { x, y } : null;
}

function isPlace(x: number | undefined, y: number | undefined): x is number {
  return Number.isFinite(x) && Number.isFinite(y);
}
