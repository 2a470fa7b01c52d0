/** What a player may click: elements that are alike and for which the page handles clicks. */

import type { PageWindow } from "attract/page-adapter";

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
  /^(?:key(?:down|up|press)|(?:dbl)?click|contextmenu|wheel|(?:mouse|pointer|touch|drag|gamepad|device)\w+|drop|beforeinput|input)$/;
/** Those of a keyboard or a mouse. */
const HANDS = /^(?:key|mouse|pointer|click|dblclick)/;
const MAX_ELEMENTS = 1_000;

/** Adds each element that gets a click listener from now on to `heard`, and the inputs that anything listens to to `inputs`. */
export function noteClicks(window: PageWindow, heard: Set<Element>, inputs = new Set<string>()): void {
  const { EventTarget, Element } = window;
  const { prototype } = EventTarget;
  const { addEventListener } = prototype;
  prototype.addEventListener = function (this: unknown, type: string, ...given: unknown[]): void {
    if (INPUTS.test(type)) inputs.add(type);
    if (this instanceof Element && CLICKS.some((name) => name === type)) heard.add(this as Element);
    // A module that names no object means its own window, not this one's.
    addEventListener.call(this ?? window, type, ...given);
  };
}

/** Inputs that the page listens to by now, sorted. @param inputs of listeners; those of properties as `onkeydown` are added. */
export function listenedIn(window: PageWindow, inputs: Iterable<string>): string[] {
  const { document } = window;
  const targets = [window, document, ...[...document.querySelectorAll("*")].slice(0, MAX_ELEMENTS)];
  const names = Object.keys(window.HTMLElement.prototype).filter((name) => INPUTS.test(name.slice(2)));
  const given = names.filter((name) => targets.some((one) => typeof one[name] === "function"));
  return [...new Set([...inputs, ...given.map((name) => name.slice(2))])].sort();
}

/** Whether only a finger plays the page. @param listens see `listenedIn`. */
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
  const all = [...window.document.body.querySelectorAll("*")] as HTMLElement[];
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

function isInSight({ innerWidth }: PageWindow, innerHeight: number, element: HTMLElement): boolean {
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const isInside = x > 0 && y > 0 && x < innerWidth && y < innerHeight;
  return isInside && width * height >= MIN_AREA && element.checkVisibility();
}
