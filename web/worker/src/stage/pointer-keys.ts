/** A person's pointer on a game that lives in a page: each place that its adapter names is a key, pressed where it is nearest. */

import type { PageAdapter, PointerPlace } from "attract/page-adapter";

/** What a person can point at, and in which window. */
export interface PointerPlaces {
  /** Size of the page's window in CSS pixels. */
  readonly size: readonly [width: number, height: number];
  /** By the action's label. */
  readonly places: Readonly<Record<string, PointerPlace>>;
}

/** Stands for a `KeyboardEvent.code`; no real code begins like this. */
export function pointerCode(label: string): string {
  return `pointer:${label}`;
}

/** The action of each place, as a game's `keys` have those of its keys. */
export function pointerKeys({ pointers, labels }: PageAdapter): Record<string, number> {
  const named = Object.keys(pointers).map((label) => [pointerCode(label), labels.indexOf(label)]);
  return Object.fromEntries(named);
}

/**
 * The code of the place nearest to a point of the screen on which the page lies in the middle and as large as fits; null: beside
 * the page, or nothing to point at. All in CSS pixels.
 *
 * @param point from the screen's upper left corner.
 */
export function nearestPointer(
  { size: [pageWidth, pageHeight], places }: PointerPlaces,
  screen: { width: number; height: number },
  point: { x: number; y: number },
): string | null {
  const scale = Math.min(screen.width / pageWidth, screen.height / pageHeight);
  const x = (point.x - (screen.width - pageWidth * scale) / 2) / scale;
  const y = (point.y - (screen.height - pageHeight * scale) / 2) / scale;
  if (!(x >= 0 && x <= pageWidth && y >= 0 && y <= pageHeight)) return null;
  let nearest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const [label, [placeX, placeY]] of Object.entries(places)) {
    const distance = Math.hypot(placeX - x, placeY - y);
    if (distance >= least) continue;
    least = distance;
    nearest = label;
  }
  return nearest === null ? null : pointerCode(nearest);
}
