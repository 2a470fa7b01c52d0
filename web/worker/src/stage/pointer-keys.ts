/**
 * A person's pointer on a game that lives in a page: each place that its adapter names is a key, pressed where it is nearest. Where
 * the pointer's place is part of the action, its buttons are keys.
 */

import type { GameDefinition } from "attract/contract";
import { resolveAction } from "attract/define-game";
import type { PageAdapter, PointerHow, PointerPlace } from "attract/page-adapter";
import { POINTER_INPUTS } from "attract/page-inputs.gen";

/** What a person can point at, and in which window. */
export interface PointerPlaces {
  /** Size of the page's window in CSS pixels. */
  readonly size: readonly [width: number, height: number];
  /** By the action's label. */
  readonly places: Readonly<Record<string, PointerPlace>>;
  /** What the pointer does wherever it is, by the action's label; null: where it is, is no part of the action. */
  readonly hows: Readonly<Record<string, PointerHow>> | null;
}

type Point = { readonly x: number; readonly y: number };

/** Stands for a `KeyboardEvent.code`; no real code begins like this. */
export function pointerCode(label: string): string {
  return `pointer:${label}`;
}

/** What a person can point at in a page; null: nothing. */
export function pointerPlaces({ size, pointers, mixed }: PageAdapter): PointerPlaces | null {
  if (mixed === undefined && Object.keys(pointers).length === 0) return null;
  const { [mixed?.aim ?? ""]: _own, ...hows } = mixed?.hows ?? {};
  return { size, places: pointers, hows: mixed === undefined ? null : hows };
}

/** The action of each place or press, as a game's `keys` have those of its keys. */
export function pointerKeys({ action, idle, page }: GameDefinition): Record<string, number | number[]> {
  const pointing = page === undefined ? null : pointerPlaces(page);
  const named = Object.keys({ ...pointing?.places, ...pointing?.hows }).map((label) => [
    pointerCode(label),
    pointing?.hows == null ? page?.labels.indexOf(label) : resolveAction("pointers", action, label, idle),
  ]);
  return Object.fromEntries(named);
}

/**
 * The point of the page below one of the screen on which it lies in the middle and as large as fits; null: beside the page. All in
 * CSS pixels.
 *
 * @param point from the screen's upper left corner.
 */
export function pointOnPage(
  [pageWidth, pageHeight]: PointerPlaces["size"],
  screen: { width: number; height: number },
  point: Point,
): Point | null {
  const scale = Math.min(screen.width / pageWidth, screen.height / pageHeight);
  const x = (point.x - (screen.width - pageWidth * scale) / 2) / scale;
  const y = (point.y - (screen.height - pageHeight * scale) / 2) / scale;
  return x >= 0 && x <= pageWidth && y >= 0 && y <= pageHeight ? { x, y } : null;
}

/**
 * The code of what is pressed at a point of the page: of the nearest place, or of what `buttons` do; null: nothing.
 *
 * @param buttons as those of a `PointerEvent`.
 */
export function pressedPointer(
  { places, hows }: PointerPlaces,
  { x, y }: Point,
  buttons: number,
): string | null {
  if (hows !== null) {
    const label = Object.keys(hows).find((name) => (POINTER_INPUTS[hows[name]].buttons & buttons) !== 0);
    return label === undefined ? null : pointerCode(label);
  }
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
