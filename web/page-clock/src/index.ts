/** The first script of every page of a page game: takes the page over before its own scripts run. */

import { type ClockOptions, DEFAULT_OPTIONS, VirtualClock } from "./virtual-clock.ts";

/** What the owner of the frame calls once its window has a clock, before the page's own scripts. */
type Prepare = (window: Window & typeof globalThis, clock: VirtualClock) => void;

/** Called by a window that has a clock: adopts the clock of a frame within it. */
type Nest = (window: Window & typeof globalThis) => void;

// Playwright puts it also into a frame that is still empty.
const isPage = window.location.href !== "about:blank";
const frame = (isPage ? window.frameElement : null) as (HTMLElement & { attractPrepare?: Prepare }) | null;
const asked = frame?.dataset.attractClock;
// Not in one of our frames: a person opened the page, and it keeps real time.
if (asked === undefined) {
  // `frameElement` is there: the window around it is of this origin.
  if (frame !== null) (window.parent as { attractNest?: Nest }).attractNest?.(window);
} else {
  const options: ClockOptions = { ...DEFAULT_OPTIONS, ...JSON.parse(asked) };
  frame?.attractPrepare?.(window, new VirtualClock(window, options));
}
