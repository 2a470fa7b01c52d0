/** Finds the place that a player's moves move, from which all else is seen. */

import { isDrawnThing } from "./drawn-places.ts";
import type { Move } from "./moves.ts";
import type { Place, Seen } from "./places.ts";
import { NO_HOLDER, NO_PLACE, NOTED, PLACE_ROW, PLACED } from "./rules.ts";

export type Axis = "x" | "y";

/** Expressions of `w`, at least one of them; null: it is not known there. */
export type Player = Readonly<Record<Axis, string | null>>;

/** Where the player is in the page's state, and among what it draws: those have units of their own. */
export interface Players {
  readonly state: Player | null;
  readonly drawn: Player | null;
}

export const NO_PLAYERS: Players = { state: null, drawn: null };

/** Where an adapter that has this keeps the pointer's place, in CSS pixels. */
export const POINTER = "w.pointerAt";

/** Sizes of numbers in one unit differ by less. */
const MAX_RATIO = 4;
/** The rate of what goes where the moves say. */
const FOLLOWS = 3;

/** A row of numbers that is a place, and which of them. */
const ROW = /(?<![\w$])([\w$]+)(?:\?\.\[|\.)(\d)\]?$/;

/** The axis of a place by its name; null: it is none. */
export function axisOf(text: string): Axis | null {
  const [, holder, at] = ROW.exec(text) ?? [];
  if (holder !== undefined && at !== undefined)
    return PLACE_ROW.test(holder) ? ((["x", "y"] as const)[Number(at)] ?? null) : null;
  const name = /[\w$]+$/.exec(text)?.[0] ?? "";
  if (!PLACED.test(name) || NO_PLACE.test(name) || NO_HOLDER.test(text)) return null;
  return name.slice(-1).toLowerCase() as Axis;
}

/**
 * @param places all that were followed: the axis on which nothing moves the player is among them.
 * @param seen what the agent sees.
 */
export function playersOf(moves: readonly Move[], places: readonly Place[], seen: readonly Seen[]): Players {
  const texts = new Set(places.filter(({ kind }) => kind === "number").map(({ text }) => text));
  const rate = (text: string): number => {
    const ways = new Set(moves.map(({ effects }) => effects?.get(text)));
    // What goes up by one move and down by another is the player; what is hit by it goes anywhere.
    if (ways.has("up") && ways.has("down")) return FOLLOWS;
    return ways.has("up") || ways.has("down") ? 2 : [...ways].some((way) => way !== undefined) ? 1 : 0;
  };
  const count = (text: string): number => moves.filter(({ effects }) => effects?.has(text)).length;
  const best = (found: readonly string[]): string | undefined =>
    [...found].sort((a, b) => rate(b) - rate(a) || count(b) - count(a) || a.length - b.length)[0];
  const isPointed = pointerSeen(moves, [1, 1]).length > 0;
  const own = best([...texts].filter((text) => axisOf(text) !== null && rate(text) > 0 && !NOTED.test(text)));
  const isSole = ({ place, count }: Seen): boolean => isDrawnThing(place) && count === 1;
  const thing = best(
    seen.filter((one) => isSole(one) && rate(one.place.text) > 0).map(({ place }) => place.text),
  );
  // What only sometimes follows the pointer is what is hit by it.
  const isFound = own !== undefined && !(isPointed && rate(own) < FOLLOWS);
  return {
    state: isFound ? pairOf(own, texts) : isPointed ? { x: `${POINTER}?.x`, y: `${POINTER}?.y` } : null,
    drawn: thing === undefined ? null : { x: `${thing}[0]?.x`, y: `${thing}[0]?.y` },
  };
}

/** The pointer's place, where moves of it have an effect: nothing else of the page may say where it is. */
export function pointerSeen(moves: readonly Move[], size: readonly [number, number]): Seen[] {
  if (!moves.some(({ input }) => input.pointer?.[2] === "move")) return [];
  return (["x", "y"] as const).map((axis, i) => ({
    place: {
      text: `${POINTER}?.${axis}`,
      name: axis,
      kind: "number",
      fields: [],
      isShown: false,
      read: (page) => page.pointerAt?.[axis],
    },
    scales: [size[i]],
    fields: [],
    count: 1,
  }));
}

function pairOf(text: string, texts: ReadonlySet<string>): Player {
  const axis = axisOf(text) as Axis;
  const other = axis === "x" ? "y" : "x";
  const letter = text.slice(-1);
  const sibling =
    letter === "]"
      ? `${text.slice(0, -2)}${axis === "x" ? 1 : 0}]`
      : text.slice(0, -1) + (letter === axis ? other : other.toUpperCase());
  const found = texts.has(sibling) ? sibling : null;
  return axis === "x" ? { x: text, y: found } : { x: found, y: text };
}

/** The axes on which the numbers of a seen place are relative to the player; null for a number that is not. */
export function relativeAxes(seen: Seen, player: Player | null, all: readonly Seen[]): (Axis | null)[] {
  const { place, fields, scales } = seen;
  const names = place.kind === "list" ? fields : place.kind === "number" ? [place.text] : [];
  if (player === null || Object.values(player).some((text) => text?.startsWith(place.text)))
    return names.map(() => null);
  const isOneUnit = (axis: Axis, scale: number): boolean => {
    const own = all.find((one) => one.place.text === player[axis])?.scales[0];
    return own === undefined || Math.max(own, scale) <= MAX_RATIO * Math.min(own, scale);
  };
  return names.map((name, i) => {
    // What is drawn has a share of the canvas as its place.
    const axis = isDrawnThing(place) ? (["x", "y"] as const).find((one) => one === name) : axisOf(name);
    return axis != null && player[axis] !== null && isOneUnit(axis, scales[i]) ? axis : null;
  });
}
