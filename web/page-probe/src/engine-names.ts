/** Names that an engine documents or keeps as its own, on the window or on its instance: they record the inputs and the time, which an agent knows. */

import type { PageWindow } from "attract/page-adapter";

const NONE: ReadonlySet<string> = new Set();

/** Those on `holder`: the window, or an object of the page. */
export function engineNames(window: PageWindow, holder: object): ReadonlySet<string> {
  const { p5 } = window;
  if (typeof p5 !== "function" || typeof p5.prototype !== "object" || p5.prototype === null) return NONE;
  if (holder !== window && !(holder instanceof p5)) return NONE;
  const names = new Set<string>();
  let prototype: object | null = p5.prototype;
  while (prototype !== null && prototype !== window.Object.prototype) {
    for (const name of Object.getOwnPropertyNames(prototype)) names.add(name);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  // In its global mode, all that its instance has is on the window as well.
  const { instance } = p5;
  if (typeof instance === "object" && instance !== null)
    for (const name of Object.getOwnPropertyNames(instance)) names.add(name);
  return names;
}
