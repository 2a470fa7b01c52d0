/** Where the pointer is tried, and the row of places that it gets where something follows it. */

import { middleOf } from "attract/page-action";
import type { PageWindow, PointerHow, PointerPlace } from "attract/page-adapter";
import { everyIn } from "../../sdk/src/page/elements.ts";
import { SWIPES } from "../../sdk/src/page/usual-inputs.ts";
import { POINTER_INPUTS } from "../../sdk/src/page-inputs.gen.ts";
import type { Listeners } from "./clicks.ts";
import type { Place, Value } from "./places.ts";
import { type Axis, axisOf } from "./player.ts";
import type { Input, PageToProbe, Samples } from "./trial.ts";

/** Shares of the window. The middle is first: where only one direction counts, the others do as it does. */
const SPOTS: readonly (readonly [label: string, x: number, y: number])[] = [
  ["middle", 0.5, 0.5],
  ["left", 0.2, 0.5],
  ["right", 0.8, 0.5],
  ["up", 0.5, 0.2],
  ["down", 0.5, 0.8],
];
/** Places along one direction, and along each of two. */
const NUM_PLACES = 9;
const NUM_BOTH = 3;
const SWIPED = ["touchmove", "touchend", "pointermove", "pointerup"];
/** Elements at which what a page listens to is tried, and to which it is dragged. */
const MAX_ELEMENTS = 3;
const HOWS = Object.keys(POINTER_INPUTS) as PointerHow[];

export interface Pointing {
  readonly label: string;
  readonly input: Input;
}

/** The places at which the pointer is tried, with the button down or without. */
export function spotsOf([width, height]: readonly [number, number], isDown: boolean): Pointing[] {
  return SPOTS.map(([name, x, y]) => ({
    label: labelOf(name, isDown),
    input: { keys: [], pointer: [width * x, height * y, isDown ? "press" : "move"] },
  }));
}

function labelOf(name: string, isDown: boolean): string {
  if (isDown && name === "middle") return "click";
  return `${isDown ? "click" : "point"} ${name}`;
}

/**
 * The places that follow the pointer along its x and its y.
 *
 * @param plays with the pointer at one spot each, by its label.
 */
export function followersOf(
  plays: ReadonlyMap<string, Samples>,
  isDown: boolean,
  restless: ReadonlySet<Place>,
): Record<Axis, readonly Place[]> {
  const [middle, ...ends] = SPOTS.map(([name]) => plays.get(labelOf(name, isDown)));
  const along = (axis: Axis, low: Samples | undefined, high: Samples | undefined): readonly Place[] => {
    if (middle === undefined || low === undefined || high === undefined) return [];
    return middle.places.filter((place, at) => {
      if (restless.has(place)) return false;
      const [first, between, last] = [low, middle, high].map(({ rows }) =>
        numberOf(place, axis, rows.at(-1)?.[at]),
      );
      if (first === null || between === null || last === null) return false;
      return (first < between && between < last) || (first > between && between > last);
    });
  };
  return { x: along("x", ends[0], ends[1]), y: along("y", ends[2], ends[3]) };
}

/** A number, or that of a list's first element on this axis; null: it has none. */
function numberOf({ kind, fields }: Place, axis: Axis, value: Value): number | null {
  if (typeof value === "number") return value;
  const at = fields.findIndex((field) => axisOf(field) === axis);
  if (kind !== "list" || !Array.isArray(value) || value[0] === 0 || at < 0) return null;
  return (value as readonly number[])[1 + at] ?? null;
}

/** A row of places along x or y, from left to right or downwards, or a square of them. */
export function placesAlong(
  [width, height]: readonly [number, number],
  { x: isX, y: isY }: Record<Axis, boolean>,
  isDown: boolean,
): Pointing[] {
  const shares = (isMeant: boolean): number[] => {
    const count = !isMeant ? 1 : isX && isY ? NUM_BOTH : NUM_PLACES;
    return Array.from({ length: count }, (_, i) => (i + 0.5) / count);
  };
  return shares(isY)
    .flatMap((y) => shares(isX).map((x) => [x, y]))
    .map(([x, y], i) => ({
      label: `${isDown ? "click" : "point"} ${i + 1}`,
      input: { keys: [], pointer: [width * x, height * y, isDown ? "press" : "move"] },
    }));
}

/** What a page listens to beside presses and moves, at what listens to it, or in the middle. */
export function askedOf(
  window: PageWindow,
  { size: [width, height], touch = false }: PageToProbe,
  listeners: Listeners,
): Pointing[] {
  const [x, y] = [width / 2, height / 2];
  const swipes = Object.entries(SWIPES).map(([label, [dx, dy]]) => ({
    label,
    input: { keys: [], pointer: [x, y, "drag", [x + dx * width, y + dy * height]] as PointerPlace },
  }));
  const placesOf = (types: readonly string[], more = ""): (readonly [number, number])[] => {
    const heard = new Set(types.flatMap((type) => [...(listeners.get(type) ?? [])]));
    return everyIn(window)
      .filter((one) => (heard.has(one) || (more !== "" && one.matches(more))) && one.checkVisibility())
      .map((one) => middleOf(one, window))
      .filter((place) => place !== null)
      .slice(0, MAX_ELEMENTS);
  };
  const asked = HOWS.flatMap((how) => {
    const { asks, second } = POINTER_INPUTS[how];
    if (!asks.some((type) => listeners.has(type))) return [];
    const made = (label: string, pointer: PointerPlace): Pointing => ({
      label: `${how} ${label}`,
      input: { keys: [], pointer },
    });
    if (second !== null)
      return placesOf([], "[draggable=true]").flatMap(([x, y], i) =>
        placesOf(["dragover", "drop"]).map((end, j) => made(`${i + 1} to ${j + 1}`, [x, y, how, end])),
      );
    const places = placesOf(asks);
    if (places.length === 0) places.push([x, y]);
    return places.map(([x, y], i) => made(String(i + 1), [x, y, how]));
  });
  return touch && SWIPED.some((type) => listeners.has(type)) ? [...swipes, ...asked] : asked;
}

/** How the pointer does what few pages listen to; undefined: it is pressed or moved. */
export function askedHow(pointer: PointerPlace | undefined): PointerHow | undefined {
  const how = pointer?.[2];
  return how !== undefined && POINTER_INPUTS[how].asks.length > 0 ? how : undefined;
}
