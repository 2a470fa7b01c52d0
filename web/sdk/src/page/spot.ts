/** Finds a button that a page draws on a canvas: an interactive Phaser object, a written text or a picture. */

import type { PageWindow } from "../page-adapter.ts";
import { drawn } from "./drawn.ts";
import { phaserSpots, type Spot } from "./phaser.ts";

/**
 * The middle of the first of these that is there, in pixels of the page's window; undefined where none is.
 *
 * Call it, or `drawn` and `made(w, "Phaser.Game")`, in `prepare` for the first time.
 *
 * @param names words that are written there, as they are written; of an image of Phaser its texture's key, of another its file's name.
 */
export function spot(window: PageWindow, ...names: string[]): readonly [x: number, y: number] | undefined {
  const all = [...spotsIn(window), ...drawn(window).pictures()];
  for (const name of names) {
    const found = all.find((one) => one.name === name);
    if (found !== undefined) return found.place;
  }
  return undefined;
}

/** All that may be pressed on the page's canvases, and all that is written there. */
export function spotsIn(window: PageWindow): Spot[] {
  return [...phaserSpots(window), ...drawn(window).written()];
}
