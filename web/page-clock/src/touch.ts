/** A page that believes to be on a phone: it may ask for a finger by any of the usual signs. */

import { define, defineGetter, defineHandler } from "./overriding.ts";

type Page = Window & typeof globalThis;

const TYPES = ["touchstart", "touchmove", "touchend", "touchcancel"] as const;
/** What a finger answers to queries about the pointer, and what a mouse would. */
const FINGER = /\(\s*(?:any-)?(?:pointer\s*:\s*coarse|hover\s*:\s*none)\s*\)/g;
const MOUSE = /\(\s*(?:any-)?(?:pointer\s*:\s*fine|hover\s*:\s*hover)\s*\)/g;

export function installTouch(window: Page): void {
  defineGetter(window.Navigator.prototype, "maxTouchPoints", () => 5);
  for (const target of [window, window.Document.prototype, window.HTMLElement.prototype])
    for (const type of TYPES) defineHandler(target, type);
  const matchMedia = window.matchMedia.bind(window);
  define(window, "matchMedia", (query: string) =>
    matchMedia(String(query).replace(FINGER, "(min-width: 0)").replace(MOUSE, "(max-width: 0)")),
  );
}

/** The event of a single finger on `target`. @param isDown whether it still touches. */
export function touchEvent(
  window: Page,
  type: string,
  target: Element,
  [clientX, clientY]: readonly [number, number],
  isDown: boolean,
  how: EventInit,
): TouchEvent {
  const touch = new window.Touch({
    identifier: 0,
    target,
    clientX,
    clientY,
    screenX: clientX,
    screenY: clientY,
    pageX: clientX + window.scrollX,
    pageY: clientY + window.scrollY,
    radiusX: 1,
    radiusY: 1,
    force: isDown ? 1 : 0,
  });
  const touches = isDown ? [touch] : [];
  return new window.TouchEvent(type, { ...how, touches, targetTouches: touches, changedTouches: [touch] });
}
