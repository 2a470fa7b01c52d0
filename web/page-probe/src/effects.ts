/** How values change in a play, and which inputs they depend on. */

import type { LookGlobal } from "../../schema/src/api.gen.ts";
import { numberOf, wordsOf } from "./json-value.ts";
import type { Place, Value } from "./places.ts";
import { NOTED } from "./rules.ts";
import { isSame, type Samples } from "./trial.ts";

export type Direction = LookGlobal["direction"];

const MAX_ROW = 16;
const MAX_LISTED = 400;
/** How adapters that the probe writes name these, and an expression that needs no adapter. */
const WRITTEN: readonly [RegExp, string][] = [
  [/^w\.lookInside\(\)\./, ""],
  [/^phaserGame\(w\)/, 'made(w, "Phaser.Game").at(-1)'],
  [/^state\(w\)/, "JSON.parse(w.render_game_to_text())"],
  [/^portal\(w\)/, "w.attractPortal"],
];

/** The places that differ where an input is left out, and how the input changes them. */
export function effectsOf(play: Samples, without: Samples): Map<Place, Direction> {
  const found = new Map<Place, Direction>();
  const numRows = Math.min(play.rows.length, without.rows.length);
  play.places.forEach((place, at) => {
    const signs = new Set<number>();
    let isChanged = false;
    for (let i = 0; i < numRows; i++) {
      const [one, other] = [play.rows[i][at], without.rows[i][at]];
      if (isSame(one, other)) continue;
      isChanged = true;
      const [now, then] = [amountOf(one), amountOf(other)];
      if (now !== null && then !== null && now !== then) signs.add(Math.sign(now - then));
    }
    if (isChanged) found.set(place, directionOf(signs));
  });
  return found;
}

/**
 * The places as the answer lists them: those that an input moves, then those that change by themselves, then the others.
 *
 * @param effects by the input's name.
 */
export function globalsSeen(
  play: Samples,
  effects: ReadonlyMap<string, Map<Place, Direction>>,
): LookGlobal[] {
  const bySize = [...effects].sort(([, one], [, other]) => one.size - other.size);
  const rated = play.places.map((place, at) => {
    const values = play.rows.map((row) => row[at]);
    const movedBy = Object.fromEntries(
      bySize.flatMap(([name, moved]) => (moved.has(place) ? [[name, moved.get(place) as Direction]] : [])),
    );
    const changes = values.some((value) => !isSame(value, values[0]));
    // An input that moves nearly everything, such as that which starts the game, says little of one value.
    const fewest = bySize.find(([name]) => name in movedBy)?.[1].size ?? 0;
    const rank = NOTED.test(place.text) ? 3 : fewest > 0 ? 0 : changes ? 1 : 2;
    const global = described(place, values, movedBy);
    // What only comes into being, as all does when a game starts, says less than what moves.
    const stillness = ["changed", "still"].includes(global.direction) ? 1 : 0;
    return { global, order: [rank, fewest, stillness, global.path.length] };
  });
  return rated
    .sort(({ order: a }, { order: b }) => a.map((one, i) => one - b[i]).find((one) => one !== 0) ?? 0)
    .slice(0, MAX_LISTED)
    .map(({ global }) => global);
}

function described(place: Place, values: readonly Value[], movedBy: LookGlobal["moved_by"]): LookGlobal {
  const { kind, fields } = place;
  const last = values.at(-1);
  const cells = Array.isArray(last) ? last.slice(kind === "grid" ? 2 : 1) : [];
  const amounts = values.map(amountOf).filter((one) => one !== null);
  const isOrdered = kind === "number" || kind === "list";
  return {
    path: wordsOf(readable(place.text), 1_000),
    kind,
    value: scalarOf(kind, last),
    fields: fields.slice(0, MAX_ROW).map((field) => wordsOf(field)),
    row: cells.slice(0, kind === "list" ? Math.min(fields.length, MAX_ROW) : MAX_ROW).map(numberOf),
    first: scalarOf(kind, values[0]),
    low: isOrdered && amounts.length > 0 ? numberOf(Math.min(...amounts)) : null,
    high: isOrdered && amounts.length > 0 ? numberOf(Math.max(...amounts)) : null,
    direction: courseOf(values),
    moved_by: movedBy,
  };
}

function readable(text: string): string {
  for (const [pattern, expression] of WRITTEN) {
    if (pattern.test(text)) return text.replace(pattern, expression);
  }
  return text;
}

export function scalarOf(kind: Place["kind"], value: Value): LookGlobal["value"] {
  if (kind === "grid" && Array.isArray(value)) return Math.max(0, value.length - 2);
  if (typeof value === "string") return wordsOf(value);
  return typeof value === "boolean" ? value : amountOf(value);
}

/** A number, or how many elements there are; null where there is no such order. */
export function amountOf(value: Value): number | null {
  return numberOf(Array.isArray(value) ? value[0] : value);
}

function courseOf(values: readonly Value[]): Direction {
  const signs = new Set<number>();
  let isChanged = false;
  for (let i = 1; i < values.length; i++) {
    if (isSame(values[i - 1], values[i])) continue;
    isChanged = true;
    const [before, now] = [amountOf(values[i - 1]), amountOf(values[i])];
    if (before !== null && now !== null && before !== now) signs.add(Math.sign(now - before));
  }
  return isChanged ? directionOf(signs) : "still";
}

function directionOf(signs: ReadonlySet<number>): Direction {
  if (signs.size === 0) return "changed";
  return signs.size === 2 ? "both" : signs.has(1) ? "up" : "down";
}
