/** A page that believes to be on a phone: it may ask for a finger by any of the usual signs. */

import { defineGetter, defineHandler } from "./overriding.ts";

type Page = Window & typeof globalThis;

const TYPES = ["touchstart", "touchmove", "touchend", "touchcancel"] as const;

export function installTouch(window: Page): void {
  defineGetter(window.Navigator.prototype, "maxTouchPoints", () => 5);
  for (const target of [window, window.Document.prototype, window.HTMLElement.prototype])
    for (const type of TYPES) defineHandler(target, type);
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
