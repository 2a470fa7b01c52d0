/** The part of an adapter that reads what the agent sees, as text. */

import { isDrawnThing } from "./drawn-places.ts";
import type { Seen } from "./places.ts";
import { type Axis, NO_PLAYERS, type Player, POINTER, relativeAxes } from "./player.ts";
import type { Reading } from "./readings.ts";
import { ALIVE_FIELDS, DEAD_FIELDS } from "./rules.ts";
import { code } from "./template.ts";

/** The nearest things of a list: random play may not have met so many. */
const MIN_NEAREST = 4;
/** Cells of the player's way, along each axis. */
const CELLS = 20;
const STATE_PLAYER = "player";
const DRAWN_PLAYER = "shownPlayer";

/** How many numbers each of what is seen gives. */
export function observedLengths(reading: Reading): number[] {
  return reading.seen.map((one) => lengthOf(one, reading));
}

/** The adapter's `observe` option. */
export function observeOf(reading: Reading): string {
  const { seen } = reading;
  return code`
    observe(w) {
      ${[...hoists(seen), ...playersOf(reading), "return ["]}
        ${hoisted(reading).map((number) => `${number},`)}
      ];
    },
    // Nothing was found that an agent could see: name it here, and give observation its shape.
    observe: () => [${seen.length === 0 && "0"}],`;
}

/** Where the player is, for what is relative to that. */
function playersOf(reading: Reading): string[] {
  const { state, drawn } = reading.players ?? NO_PLAYERS;
  const isUsed = (player: Player | null): boolean =>
    reading.seen.some(
      (one) => playerOf(one, reading) === player && axesOf(one, reading).some((axis) => axis !== null),
    );
  const written = (name: string, player: Player | null): string[] => {
    if (player === null || !isUsed(player)) return [];
    const axes = (["x", "y"] as const).flatMap((axis) =>
      player[axis] === null ? [] : [`${axis}: Number(${shortened(player[axis], reading.seen)})`],
    );
    return [`const ${name} = { ${axes.join(", ")} };`];
  };
  return [...written(STATE_PLAYER, state), ...written(DRAWN_PLAYER, drawn)];
}

/** The player's place as a text, both axes in cells of a share of what it moved through; null: they are not seen. */
export function reachedOf(reading: Reading): string | null {
  const { state, drawn } = reading.players ?? NO_PLAYERS;
  // The pointer is anywhere at once.
  const player = state?.x?.startsWith(POINTER) ? drawn : (state ?? drawn);
  const cells = Object.values(player ?? {}).flatMap((text) => {
    const [seen] = reading.seen.filter(
      ({ place }) => text === place.text || text?.startsWith(`${place.text}[0]`),
    );
    if (seen === undefined) return [];
    const scale = seen.place.kind === "list" ? 1 : Math.max(CELLS, seen.scales[0]);
    return [`Math.floor((${CELLS} * Number(${text})) / ${scale})`];
  });
  // What moves along one axis alone, as a paddle or a bird, has nowhere to go.
  return cells.length < 2 ? null : `[${cells.join(", ")}].join()`;
}

function playerOf({ place }: Seen, { players = NO_PLAYERS }: Reading): Player | null {
  return isDrawnThing(place) ? players.drawn : players.state;
}

function axesOf(one: Seen, reading: Reading): (Axis | null)[] {
  return relativeAxes(one, playerOf(one, reading), reading.seen);
}

/** Whether its items are sorted: both axes of their places are relative to the player. */
function isSorted(one: Seen, reading: Reading): boolean {
  const axes = axesOf(one, reading);
  return one.place.kind === "list" && axes.includes("x") && axes.includes("y");
}

/** Calls that give the state are made once. */
function hoists(seen: readonly Seen[]): string[] {
  const found = prefixes(seen);
  return found.map((prefix, i) => `const ${nameOf(i)} = ${prefix};`);
}

function prefixes(seen: readonly Seen[]): string[] {
  const calls = seen.map(({ place }) => /^(?:state\(w\)|w(?:\.[\w$]+){1,2}\(\))/.exec(place.text)?.[0]);
  return [...new Set(calls.filter((call) => call !== undefined))];
}

function nameOf(index: number): string {
  return ["now", "also", "too", "more"][index] ?? `more${index}`;
}

function hoisted(reading: Reading): string[] {
  return reading.seen.map((one) => written(one, shortened(one.place.text, reading.seen), reading));
}

function shortened(text: string, seen: readonly Seen[]): string {
  const found = prefixes(seen);
  const at = found.findIndex((prefix) => text.startsWith(prefix));
  return at < 0 ? text : nameOf(at) + text.slice(found[at].length);
}

function written(one: Seen, text: string, reading: Reading): string {
  const { place, scales, fields } = one;
  if (place.kind === "grid") {
    const empty = place.empty === undefined ? "" : `, ${JSON.stringify(place.empty)}`;
    return `...cells(${text}, ${fields.join(", ")}, ${scales[0]}${empty})`;
  }
  const axes = axesOf(one, reading);
  const player = isDrawnThing(place) ? DRAWN_PLAYER : STATE_PLAYER;
  const relative = (value: string, at: number): string =>
    axes[at] == null ? value : `${value} - ${player}.${axes[at]}`;
  if (one.turn !== undefined) {
    const angle = one.turn === 1 ? text : `(${text} * Math.PI) / 180`;
    return `near(Math.cos(${angle}), 1),\nnear(Math.sin(${angle}), 1)`;
  }
  if (place.kind !== "list") return `near(${relative(text, 0)}, ${scales[0]})`;
  const values = fields.map((field, i) => relative(`m.${pathOf(field)}`, i));
  const numbers = values.map((value, i) => `near(${value}, ${scales[i]})`);
  const away = values.filter((_, i) => axes[i] != null);
  const list = isSorted(one, reading)
    ? `nearest(${text}, (m) => [${away.join(", ")}])${livingOf(fields)}`
    : text;
  return `...rows(${list}, ${countOf(one, reading)}, ${fields.length}, (m) => [${numbers.join(", ")}])`;
}

/** What leaves out the dead of a sorted list: they stay where they died, often nearer than the living. */
function livingOf(fields: readonly string[]): string {
  const alive = fields.find((field) => ALIVE_FIELDS.test(field));
  if (alive !== undefined) return `.filter((m) => m.${alive})`;
  const dead = fields.find((field) => DEAD_FIELDS.test(field));
  return dead === undefined ? "" : `.filter((m) => !m.${dead})`;
}

/** `pos?.x` of the field `pos.x`, and `pos?.[0]` of `pos.0`. */
function pathOf(field: string): string {
  return field.replace(/\.(\w+)/g, (_, name: string) => (/^\d/.test(name) ? `?.[${name}]` : `?.${name}`));
}

function countOf(one: Seen, reading: Reading): number {
  return isSorted(one, reading) && one.count > 1 ? Math.max(MIN_NEAREST, one.count) : one.count;
}

function lengthOf(one: Seen, reading: Reading): number {
  if (one.turn !== undefined) return 2;
  return one.place.kind === "list" ? one.fields.length * countOf(one, reading) : one.count;
}
