/** What a player may click: elements that are alike and for which the page handles clicks. */

import { middleOf } from "attract/page-action";
import type { PageWindow } from "attract/page-adapter";
import { everyIn } from "../../sdk/src/page/elements.ts";
import { HANDS } from "./rules.ts";

const CLICKS = ["click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart"] as const;
/** In CSS pixels: smaller ones are no cells. */
const MIN_AREA = 64;
/** Similar children of an element that handles their clicks. */
const MIN_CHILDREN = 4;
const MAX_ALIKE = 144;
/** The highest window that shows a board, in CSS pixels. */
const MAX_HEIGHT = 2_000;

/** Events of a person's hands. */
const INPUTS =
  /^(?:key(?:down|up|press)|(?:dbl|aux)?click|contextmenu|(?:mouse)?wheel|(?:mouse|pointer|touch|drag|gamepad|device)\w+|drop|beforeinput|input)$/;
const MAX_ELEMENTS = 1_000;
const KEYED = /^(?:key|gamepad|beforeinput|input)/;
/** Elements that a press does something to, listened to or not. */
const PRESSED = "a, button, input, select, textarea, label, summary";

/** By each event of `INPUTS`, what listens to it. A page that asks for gamepads counts as one that listens to them. */
export type Listeners = ReadonlyMap<string, ReadonlySet<unknown>>;

/** Adds each element that gets a click listener from now on to `heard`, and what listens to inputs to `inputs`. */
export function noteClicks(
  window: PageWindow,
  heard: Set<Element>,
  inputs = new Map<string, Set<unknown>>(),
): void {
  const { EventTarget, Element, navigator } = window;
  const { prototype } = EventTarget;
  const { addEventListener } = prototype;
  const note = (type: string, target: unknown): unknown =>
    inputs.set(type, (inputs.get(type) ?? new Set()).add(target));
  prototype.addEventListener = function (this: unknown, type: string, ...given: unknown[]): void {
    if (INPUTS.test(type)) note(type, this);
    if (this instanceof Element && CLICKS.some((name) => name === type)) heard.add(this as Element);
    // A module that names no object means its own window, not this one's.
    addEventListener.call(this ?? window, type, ...given);
  };
  const { getGamepads } = navigator;
  if (getGamepads === undefined) return;
  navigator.getGamepads = () => {
    note("gamepadconnected", navigator);
    return getGamepads.call(navigator);
  };
}

/** What listens to inputs by now. @param noted by `noteClicks`; those of properties as `onkeydown` are added. */
export function listenersIn(window: PageWindow, noted: Listeners): Listeners {
  const { document } = window;
  const targets = [window, document, document.body, ...everyIn(window).slice(0, MAX_ELEMENTS)];
  const found = new Map([...noted].map(([type, some]) => [type, new Set(some)]));
  for (const name of Object.keys(window.HTMLElement.prototype)) {
    const type = name.slice(2);
    const some = INPUTS.test(type) ? targets.filter((one) => typeof one?.[name] === "function") : [];
    if (some.length > 0) found.set(type, new Set([...(found.get(type) ?? []), ...some]));
  }
  return found;
}

/** Which of a person's hands can do anything in a page. */
export interface Heard {
  readonly keys: boolean;
  readonly pointer: boolean;
}

/** What a page of one document heeds: what nothing listens to, and no element does by itself, need not be tried. */
export function heardIn(window: PageWindow, listeners: Listeners): Heard {
  if (window.frames.length > 0) return { keys: true, pointer: true };
  const types = [...listeners.keys()];
  const { activeElement, body } = window.document;
  const isTyped = activeElement !== null && activeElement !== body;
  return {
    keys: isTyped || types.some((type) => KEYED.test(type)),
    pointer: types.some((type) => !KEYED.test(type)) || everyIn(window, PRESSED).length > 0,
  };
}

/** Whether only a finger plays the page. @param listens names of `listenersIn`. */
export function isForTouch(listens: readonly string[]): boolean {
  return listens.some((name) => name.startsWith("touch")) && !listens.some((name) => HANDS.test(name));
}

/**
 * Visible elements side by side that handle clicks, or whose parent does; the largest group first.
 *
 * @param heard elements with click listeners.
 */
export function clickGroupsOf(window: PageWindow, heard: Iterable<Element>): HTMLElement[][] {
  return groupsIn(window, heard, window.innerHeight);
}

/** The height in which all such groups are in sight; that of the window, where they are. */
export function heightForClicks(window: PageWindow, heard: Iterable<Element>): number {
  const bottoms = groupsIn(window, heard, MAX_HEIGHT)
    .flat()
    .map((one) => one.getBoundingClientRect().bottom);
  return Math.min(MAX_HEIGHT, Math.max(window.innerHeight, ...bottoms.map(Math.ceil)));
}

function groupsIn(window: PageWindow, heard: Iterable<Element>, height: number): HTMLElement[][] {
  const all = everyIn(window);
  const known = new Set<unknown>(heard);
  const hears = (one: HTMLElement): boolean =>
    known.has(one) || CLICKS.some((name) => (one as PageWindow)[`on${name}`] != null);
  const listening = all.filter(hears);
  const groups = new Map<string, HTMLElement[]>();
  const parents = new Map<Element | null, number>();
  for (const one of listening) {
    const parent = parents.get(one.parentElement) ?? parents.size;
    parents.set(one.parentElement, parent);
    const key = `${parent} ${one.tagName}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const children = listening
    .map((one) => [...one.children] as HTMLElement[])
    .filter(
      (some) => some.length >= MIN_CHILDREN && some.every(({ tagName }) => tagName === some[0].tagName),
    );
  return [...groups.values(), ...children]
    .map((group) => group.filter((one) => isInSight(window, height, one)))
    .filter(({ length }) => length > 1 && length <= MAX_ALIKE)
    .sort((a, b) => b.length - a.length);
}

function isInSight(window: PageWindow, innerHeight: number, element: HTMLElement): boolean {
  const { width, height } = element.getBoundingClientRect();
  const [x, y] = middleOf(element, window) ?? [-1, -1];
  const { innerWidth } = window;
  const isInside = x > 0 && y > 0 && x < innerWidth && y < innerHeight;
  return isInside && width * height >= MIN_AREA && element.checkVisibility();
}
