/** The first script of every page of a page game: takes the page over before its own scripts run. */

import { type ClockOptions, DEFAULT_OPTIONS, VirtualClock } from "./virtual-clock.ts";

/** What the owner of the frame calls once its window has a clock, before the page's own scripts. */
type Prepare = (window: Window & typeof globalThis, clock: VirtualClock) => void;

const frame = window.frameElement as (HTMLElement & { attractPrepare?: Prepare }) | null;
const asked = frame?.dataset.attractClock;
// Not in a frame of ours: the page is somebody's who looks at it, and keeps its own time.
if (asked !== undefined) {
  const options: ClockOptions = { ...DEFAULT_OPTIONS, ...JSON.parse(asked) };
  frame?.attractPrepare?.(window, new VirtualClock(window, options));
}
