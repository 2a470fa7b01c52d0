/** A page that believes to be on a phone: it may ask for a finger by any of the usual signs. */

import { defineGetter, defineHandler } from "./overriding.ts";
import type { Pointer } from "./pointer.ts";

type Page = Window & typeof globalThis;

const TYPES = ["touchstart", "touchmove", "touchend", "touchcancel"] as const;

export function installTouch(window: Page): void {
  defineGetter(window.Navigator.prototype, "maxTouchPoints", () => 5);
  for (const target of [window, window.Document.prototype, window.HTMLElement.prototype])
    for (const type of TYPES) defineHandler(target, type);
}

/** The first of them, as `PointerEvent.pointerId`, and as `Touch.identifier`. */
const FIRST_ID = 2;

/**
 * An event of fingers on `target`.
 *
 * @param all those that touch now.
 * @param changed those that the event is of.
 */
export function touchEvent(
  window: Page,
  type: string,
  target: Element,
  all: readonly Pointer[],
  changed: readonly Pointer[],
  how: EventInit,
): TouchEvent {
  const touchOf = (finger: Pointer): Touch => {
    const [clientX, clientY] = finger.point;
    return new window.Touch({
      identifier: finger.id - FIRST_ID,
      target: finger.pressed as Element,
      clientX,
      clientY,
      screenX: clientX,
      screenY: clientY,
      pageX: clientX + window.scrollX,
      pageY: clientY + window.scrollY,
      radiusX: 1,
      radiusY: 1,
      force: all.includes(finger) ? 1 : 0,
    });
  };
  const [touches, changedTouches] = [all, changed].map((some) => some.map(touchOf));
  const targetTouches = touches.filter((touch) => touch.target === target);
  return new window.TouchEvent(type, { ...how, touches, targetTouches, changedTouches });
}
