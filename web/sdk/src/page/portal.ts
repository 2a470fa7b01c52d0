/** What a game tells the portal that it is published on: when play starts and stops, a score. */

import { followPortals, type PortalSignals } from "../../../page-clock/src/portals.ts";
import type { PageWindow } from "../page-adapter.ts";

/**
 * What the game in `window` has reported to a portal so far (Poki, CrazyGames, YouTube Playables, GameDistribution).
 *
 * While it is trained, the SDK is one of ours. In a page of one's own it is the portal's: what the game says is heard from
 * the first call on, so call this once before it plays.
 */
export function portal(window: PageWindow): PortalSignals {
  return window.attractPortal ?? followPortals(window);
}

export type { PortalSignals };
