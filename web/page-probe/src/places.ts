/** The state variables of a page: numbers, booleans, words, lists and grids, and how an adapter reads them. */

import type { PageWindow } from "attract/page-adapter";
import { cellNumber } from "../../sdk/src/page/readers.ts";
import { engineNames } from "./engine-names.ts";
import { FURNITURE, LIBRARIES, VECTOR_NAMES } from "./rules.ts";

export type Kind = "number" | "truth" | "word" | "list" | "grid";

/** The current value of a place: a list's fields, element by element, or a grid's cells. */
export type Value = number | boolean | string | readonly number[] | undefined;

/** Something that an adapter can read. */
export interface Place {
  /** As an adapter writes it; `w` is the page's window. */
  readonly text: string;
  /** The last name in it: `x` of `w.game.player.x`. */
  readonly name: string;
  readonly kind: Kind;
  /** A list's numeric fields: `x` or `position.x`. */
  readonly fields: readonly string[];
  /** Whether the page shows it; else it is part of its state. */
  readonly isShown: boolean;
  /** The word of a grid's empty cells, where its cells are words: the most frequent. */
  readonly empty?: string;
  /** Whether it is known only from the page's scripts, and may never have occurred. */
  readonly isQuoted?: boolean;
  read(window: PageWindow): Value;
}

/** An object below which places are searched. */
export interface Root {
  readonly text: string;
  readonly name: string;
  /** Names right below it that are not the game's. */
  readonly skipped?: RegExp;
  read(window: PageWindow): unknown;
}

/** A place that an agent sees. */
export interface Seen {
  readonly place: Place;
  /** Divisors of its numbers, one for each field of a list. */
  readonly scales: readonly number[];
  /** A list's observed fields and number of elements, or a grid's number of cells. */
  readonly fields: readonly string[];
  readonly count: number;
  /** Radians in one of an angle's units. */
  readonly turn?: number;
}

const MAX_OBJECTS = 4_000;
const MAX_PLACES = 4_000;
const MAX_KEYS = 200;
const MAX_DEPTH = 6;
/** A game's own class, and the classes of an engine's sprite. */
const MAX_PROTOTYPES = 5;
const MAX_CELLS = 400;
const MAX_FIELDS = 8;
const VECTOR_LENGTHS = [2, 3];
/** Elements of a list that are read and may be observed. */
export const MAX_ELEMENTS = 8;
const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

type Segment = string | number;

interface Found {
  value: unknown;
  root: Root;
  path: readonly Segment[];
}

/** All places below `roots` that could matter, the nearest first. */
export function findPlaces(window: PageWindow, roots: readonly Root[]): Place[] {
  const places: Place[] = [];
  const seen = new Set<unknown>();
  const queue: Found[] = [];
  for (const root of roots) {
    const value =
      FURNITURE.test(root.name) || LIBRARIES.test(root.name) ? undefined : attempt(() => root.read(window));
    if (value !== undefined) queue.push({ value, root, path: [] });
  }
  for (let at = 0; at < queue.length && at < MAX_OBJECTS && places.length < MAX_PLACES; at++) {
    const { value, root, path } = queue[at];
    const kind = kindOf(window, value, String(path.at(-1) ?? root.name));
    if (kind !== null) {
      places.push(placeOf(window, root, path, kind, value));
      if (kind !== "list") continue;
    }
    const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
    if (!isObject || seen.has(value) || path.length >= MAX_DEPTH || isForeign(window, value)) continue;
    if (isEngineGame(value as PageWindow) || (path.length > 0 && isEngines(value as PageWindow))) continue;
    seen.add(value);
    const { children } = value as PageWindow;
    // Phaser 3: unlike `getChildren()`, this does not throw once the group is destroyed.
    if (
      isGathering(window, value) &&
      isArray(
        window,
        attempt(() => children.entries),
      )
    )
      queue.push({ value: children.entries, root, path: [...path, "children", "entries"] });
    else if (isGathering(window, value)) {
      const calls = typeof (value as PageWindow).getChildren === "function" ? "getChildren()" : "values()";
      queue.push({ value: step(value, calls), root, path: [...path, calls] });
      if (calls === "values()") continue;
    }
    const engines = engineNames(window, value as object);
    for (const key of keysOf(window, value as object, path.length === 0)) {
      if (engines.has(String(key))) continue;
      if (path.length === 0 && root.skipped?.test(String(key))) continue;
      const child = attempt(() => (value as Record<Segment, unknown>)[key]);
      if (child !== undefined && child !== null) queue.push({ value: child, root, path: [...path, key] });
    }
  }
  return places;
}

function kindOf(window: PageWindow, value: unknown, name: string): Kind | null {
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "truth";
  if (typeof value === "string") return value.length <= 40 ? "word" : null;
  if (!isArray(window, value) || isVector(window, value, name)) return null;
  // Holes count as empty elements.
  const items = Array.from(value as readonly unknown[]);
  if (items.length === 0) return "list";
  if (cellsOf(window, items) !== null) return "grid";
  const first = items.find((item) => typeof item === "object" && item !== null);
  return first !== undefined && numbersOf(window, first).length > 0 ? "list" : null;
}

function placeOf(
  window: PageWindow,
  root: Root,
  path: readonly Segment[],
  kind: Kind,
  value: unknown,
): Place {
  const at = (page: PageWindow): unknown => {
    let now = attempt(() => root.read(page));
    for (const segment of path) {
      if (now === undefined || now === null) return undefined;
      now = step(now, segment);
    }
    return now;
  };
  const items = kind === "list" ? (value as readonly unknown[]) : [];
  const fields = items.length === 0 ? [] : numbersOf(window, items.find((item) => item !== null) as object);
  const empty = kind === "grid" ? emptyWordOf(value as readonly unknown[]) : undefined;
  const last = [...path].reverse().find((segment) => typeof segment === "string" && !segment.endsWith("()"));
  return {
    text: root.text + path.map(written).join(""),
    name: String(last ?? root.name),
    kind,
    fields,
    isShown: false,
    ...(empty !== undefined && { empty }),
    read: (page) => {
      const now = at(page);
      if (kind === "list") return rowsOf(page, now, fields);
      if (kind === "grid")
        return (
          (isArray(page, now) && cellsOf(page, Array.from(now as readonly unknown[]), empty)) || undefined
        );
      return typeof now === "object" || typeof now === "function" ? undefined : (now as Value);
    },
  };
}

/** Sets, maps and groups: what is in them is a list. */
function isGathering(window: PageWindow, value: unknown): boolean {
  return (
    value instanceof window.Set ||
    value instanceof window.Map ||
    typeof (value as PageWindow)?.getChildren === "function"
  );
}

/** The value at `segment` of `value`; a segment that ends in parentheses is called. */
function step(value: unknown, segment: Segment): unknown {
  const holder = value as Record<Segment, unknown>;
  if (typeof segment === "number" || !segment.endsWith("()")) return attempt(() => holder[segment]);
  const given = attempt(() => (holder[segment.slice(0, -2)] as () => unknown).call(holder));
  return Array.isArray(given) ? given : attempt(() => [...(given as Iterable<unknown>)]);
}

function written(segment: Segment): string {
  if (typeof segment === "string" && segment.endsWith("()")) return `?.${segment}`;
  if (typeof segment === "number") return `?.[${segment}]`;
  return PLAIN_NAME.test(segment) ? `?.${segment}` : `?.[${JSON.stringify(segment)}]`;
}

/** A list's elements as rows of numbers, cut off. */
function rowsOf(window: PageWindow, value: unknown, fields: readonly string[]): number[] | undefined {
  if (!isArray(window, value)) return undefined;
  const rows = (value as readonly unknown[]).filter((item) => item !== null && item !== undefined);
  const read = rows
    .slice(0, MAX_ELEMENTS)
    .flatMap((item) => fields.map((field) => Number(attempt(() => fieldOf(item, field))) || 0));
  return [rows.length, ...read];
}

function fieldOf(item: unknown, field: string): unknown {
  let now = item as Record<string, unknown>;
  for (const name of field.split(".")) now = now?.[name] as Record<string, unknown>;
  return now;
}

/** A place or a speed, such as `[x, y]`: its numbers are read one by one. */
function isVector(window: PageWindow, value: unknown, name: string): value is readonly number[] {
  if (!VECTOR_NAMES.test(name) || !isArray(window, value)) return false;
  const items = value as readonly unknown[];
  return VECTOR_LENGTHS.includes(items.length) && items.every((item) => typeof item === "number");
}

/** Number of columns, cells per column, then the cells: occupied ones are not 0. Null if it is no board and no row of numbers. */
function cellsOf(window: PageWindow, items: readonly unknown[], empty = ""): number[] | null {
  if (items.length === 0 || items.length > MAX_CELLS) return null;
  const isBoard =
    items.length > 1 &&
    items.some((item) => isArray(window, item)) &&
    items.every((item) => item == null || isArray(window, item));
  if (!isBoard) {
    const isRow =
      items.length > 1 && items.every((item) => typeof item === "number" || typeof item === "boolean");
    return isRow ? [items.length, 1, ...items.map(Number)] : null;
  }
  const columns = items as readonly (readonly unknown[] | undefined)[];
  const most = Math.max(...columns.map((column) => column?.length ?? 0));
  if (most === 0 || most * items.length > MAX_CELLS) return null;
  const cells = columns.flatMap((column) =>
    Array.from({ length: most }, (_, i) => cellNumber(column?.[i], empty)),
  );
  return [items.length, most, ...cells];
}

function emptyWordOf(items: readonly unknown[]): string | undefined {
  const counts = new Map<string, number>();
  for (const cell of items.flat())
    if (typeof cell === "string") counts.set(cell, (counts.get(cell) ?? 0) + 1);
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most?.[0];
}

/** Paths to an object's numbers: its own, and those of a place or a speed within it, `pos.x` or `pos.0`. */
function numbersOf(window: PageWindow, item: object): string[] {
  const found: string[] = [];
  for (const key of keysOf(window, item, false)) {
    const value = attempt(() => (item as Record<Segment, unknown>)[key]);
    if (!PLAIN_NAME.test(String(key))) continue;
    if (typeof value === "number" || typeof value === "boolean") found.push(String(key));
    else if (isVector(window, value, String(key))) found.push(...value.map((_, i) => `${key}.${i}`));
    else if (
      typeof value === "object" &&
      value !== null &&
      !isForeign(window, value) &&
      !isArray(window, value)
    )
      for (const inner of ["x", "y"])
        if (typeof attempt(() => (value as Record<string, unknown>)[inner]) === "number")
          found.push(`${key}.${inner}`);
  }
  // Positions come first.
  const rank = (field: string): number => {
    const at = ["x", "y"].indexOf(field);
    if (at >= 0) return at;
    return /(^|\.)(x|y|pos|vx|vy|w|h|width|height|radius|r|type|kind|speed|row|col)$|Pos$|\.\d$/i.test(field)
      ? 2
      : 3;
  };
  return found.sort((a, b) => rank(a) - rank(b)).slice(0, MAX_FIELDS);
}

/** Own property names, and getters of the game's classes. */
function keysOf(window: PageWindow, value: object, isRoot: boolean): Segment[] {
  if (isArray(window, value)) {
    // Only short lists by index: longer ones are read as lists.
    const { length } = value as unknown[];
    return length <= MAX_ELEMENTS ? [...Array(length).keys()] : [];
  }
  const keys = new Set<string>();
  for (const key of attempt(() => Object.keys(value)) ?? []) keys.add(key);
  if (typeof value !== "function") {
    let prototype = attempt(() => Object.getPrototypeOf(value)) as object | null | undefined;
    for (let depth = 0; depth < MAX_PROTOTYPES && prototype && !isBuiltIn(window, prototype); depth++) {
      for (const [key, { get }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
        if (get !== undefined) keys.add(key);
      prototype = Object.getPrototypeOf(prototype) as object | null;
    }
  }
  const named = [...keys].filter(
    (key) => !key.startsWith("__") && !LIBRARIES.test(key) && !FURNITURE.test(key),
  );
  // A library's namespace consists mostly of functions.
  if (isRoot && named.length > MAX_KEYS) return [];
  // An engine's objects have many internal properties.
  const own = named.length > 30 ? named.filter((key) => !key.startsWith("_")) : named;
  return own.slice(0, MAX_KEYS);
}

function isBuiltIn(window: PageWindow, prototype: object): boolean {
  const maker = prototype.constructor;
  return (
    prototype === window.Object.prototype ||
    prototype === window.Function.prototype ||
    typeof maker !== "function" ||
    /\[native code\]/.test(attempt(() => window.Function.prototype.toString.call(maker)) ?? "")
  );
}

/** The browser's own objects and large binary ones. */
export function isForeign(window: PageWindow, value: unknown): boolean {
  if (value === window || value === null) return true;
  if (window.ArrayBuffer.isView(value)) return true;
  const kinds = ["Node", "Promise", "WeakMap", "CanvasRenderingContext2D"];
  if (kinds.some((kind) => value instanceof window[kind])) return true;
  // Games' own classes may be event targets.
  return value instanceof window.EventTarget && isBuiltIn(window, Object.getPrototypeOf(value) as object);
}

/** Phaser's own objects: a key, which an agent knows, a scene, which is a root of its own, and a scene's systems. */
function isEngines(value: PageWindow): boolean {
  return (
    has(value, "keyCode", "originalEvent") || has(value, "sys", "scene") || has(value, "systems", "scene")
  );
}

/** Phaser's game: the pointer, the time between frames, and the scenes, which are roots of their own. */
function isEngineGame(value: PageWindow): boolean {
  return has(value, "isBooted", "loop", "scene", "textures");
}

function has(value: PageWindow, ...names: string[]): boolean {
  return names.every((name) => attempt(() => name in value) ?? false);
}

function isArray(_window: PageWindow, value: unknown): boolean {
  return Array.isArray(value);
}

/** What `read` gives; undefined where the page's own code throws. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
