/** Where observations lie in memory, and how what a game returned gets there checked. */

import type { BoxView, ObservationValue, ObservationView } from "./contract.ts";
import { GameError, type GameMethod, show } from "./errors.ts";
import { type LeafSpace, leafLayout, leafLimits, type ObservationSpace } from "./spaces.ts";

/** One tensor of an observation; `name` is empty when the observation is a single box. */
export interface ObservationEntry {
  name: string;
  dtype: "float32" | "uint8" | "int32";
  shape: number[];
  /** Scalars in one value. */
  size: number;
  space: LeafSpace;
}

/** The tensors of an observation in the order of the wire: a dict's names sorted by code unit. */
export function observationEntries(space: ObservationSpace): ObservationEntry[] {
  if (space.kind !== "dict") return [entryOf("", space)];
  return Object.keys(space.spaces)
    .sort()
    .map((name) => entryOf(name, space.spaces[name]));
}

/** A typed array for `count` values of `entry`. */
export function allocateEntry(entry: ObservationEntry, count: number): BoxView {
  const length = count * entry.size;
  if (entry.dtype === "uint8") return new Uint8Array(length);
  return entry.dtype === "int32" ? new Int32Array(length) : new Float32Array(length);
}

/** The view of slot `slot` into one batch array per entry (as `observationEntries` orders them). */
export function observationView(
  space: ObservationSpace,
  batches: readonly BoxView[],
  slot: number,
): ObservationView {
  const views = observationEntries(space).map((entry, i) =>
    batches[i].subarray(slot * entry.size, (slot + 1) * entry.size),
  );
  if (space.kind !== "dict") return views[0];
  return Object.fromEntries(observationEntries(space).map((entry, i) => [entry.name, views[i]]));
}

/** What a view holds as a game returns it: a set as the list of its rows. Other parts stay views. */
export function asReturned(space: ObservationSpace, view: ObservationView): ObservationValue {
  if (space.kind === "set") return rowsIn(view as BoxView, space.shape[0]);
  if (space.kind !== "dict") return view as BoxView;
  const parts = Object.entries(view as Record<string, BoxView>).map(([name, part]) => {
    const inner = space.spaces[name];
    return [name, inner.kind === "set" ? rowsIn(part, inner.shape[0]) : part] as const;
  });
  return Object.fromEntries(parts);
}

function rowsIn(view: BoxView, width: number): BoxView[] {
  const starts = Array.from({ length: view.length / (width + 1) }, (_, row) => row * (width + 1));
  return starts.filter((at) => view[at + width] === 1).map((at) => view.subarray(at, at + width));
}

/** Checks and copies one agent's observations; owned by one game instance, allocates nothing per step. */
export class ObservationReader {
  readonly #entries: ObservationEntry[];
  readonly #views: BoxView[];
  /** The largest value per element, for entries that are choices. */
  readonly #highest: (Int32Array | null)[];
  readonly #label: string;
  /** The view of an observation that is one box of floats: nearly all are, and the check runs after every step. */
  readonly #floats: Float32Array | null;
  /** The method that returned an observation last, rather than filling `out`. */
  #returnedBy: GameMethod | null = null;

  /** `label` names the field in messages, for example `observation` or `observation[2]` for agent 2. */
  constructor(space: ObservationSpace, view: ObservationView, label: string) {
    this.#entries = observationEntries(space);
    this.#label = label;
    this.#views = this.#entries.map((entry) =>
      space.kind === "dict" ? (view as Record<string, BoxView>)[entry.name] : (view as BoxView),
    );
    this.#highest = this.#entries.map(({ size, space: inner }) =>
      inner.kind === "box" || inner.kind === "set"
        ? null
        : Int32Array.from({ length: size }, (_, i) => leafLimits(inner, i)[1]),
    );
    const isFloats = space.kind === "box" && space.dtype === "float32";
    this.#floats = isFloats ? (this.#views[0] as Float32Array) : null;
  }

  /** Makes values that `start` forgets to fill visible: NaN where the dtype has one. */
  invalidate(): void {
    this.#returnedBy = null;
    for (const view of this.#views) view.fill(Number.NaN);
  }

  /** Copies what the game returned into the view. Raises GameError (`shape`). */
  write(method: GameMethod, value: ObservationValue): void {
    this.#returnedBy = method;
    for (let e = 0; e < this.#entries.length; e++) {
      const { name, size, shape, dtype, space } = this.#entries[e];
      const given = name === "" ? value : (value as Record<string, unknown>)?.[name];
      if (space.kind === "set") {
        this.#writeRows(method, e, given);
        continue;
      }
      const source = (typeof given === "number" && name !== "" ? [given] : given) as ArrayLike<number>;
      if (typeof source !== "object" || source === null || source.length !== size) {
        throw this.#shapeError(method, this.#field(name), source, shape, size);
      }
      const view = this.#views[e];
      for (let i = 0; i < size; i++) {
        const number = source[i];
        if (typeof number !== "number") throw this.#numberError(method, e, i, number);
        view[i] = number;
        // What an array of whole numbers cannot hold, such as 1.5 or 256, would become something else.
        if (dtype !== "float32" && view[i] !== number) throw this.#wholeError(method, e, i, number);
      }
    }
  }

  /** Raises GameError: `nan` unless every float is finite, `shape` unless every choice is one of its space. */
  checkFinite(method: GameMethod): void {
    const floats = this.#floats;
    if (floats !== null) {
      // NaN - NaN and Infinity - Infinity are both NaN.
      for (let i = 0; i < floats.length; i++)
        if (floats[i] - floats[i] !== 0) throw this.#finiteError(method, 0, i);
      return;
    }
    for (let e = 0; e < this.#views.length; e++) {
      const view = this.#views[e];
      const highest = this.#highest[e];
      if (highest !== null) this.#checkChoices(method, e, highest);
      else if (this.#entries[e].dtype === "float32") {
        for (let i = 0; i < view.length; i++) {
          const number = view[i];
          if (number - number !== 0) throw this.#finiteError(method, e, i);
        }
        if (this.#entries[e].space.kind === "set") this.#checkRows(method, e);
      }
    }
  }

  /** The rows of a set, each followed by a 1, and zeros after. */
  #writeRows(method: GameMethod, e: number, given: unknown): void {
    const {
      name,
      shape: [most, stride],
    } = this.#entries[e];
    const view = this.#views[e];
    const width = stride - 1;
    const field = this.#field(name);
    const rows = given as ArrayLike<ArrayLike<number>> | null;
    const count = typeof rows === "object" && rows !== null ? rows.length : Number.NaN;
    if (rows === null || !(Number.isInteger(count) && count >= 0 && count <= most)) {
      const came = Number.isInteger(count) ? `${count} rows` : show(given);
      const wanted = `a list of at most ${most} rows of ${width} numbers`;
      throw new GameError(
        "shape",
        method,
        field,
        `${method}() returned ${field} with ${came}, expected ${wanted}`,
      );
    }
    for (let r = 0; r < count; r++) {
      const row = rows[r];
      if (typeof row !== "object" || row === null || row.length !== width)
        throw this.#shapeError(method, `${field}[${r}]`, row, [width], width);
      for (let c = 0, i = r * stride; c < width; c++, i++) {
        const number = row[c];
        if (typeof number !== "number") throw this.#numberError(method, e, i, number);
        view[i] = number;
      }
      view[r * stride + width] = 1;
    }
    view.fill(0, count * stride);
  }

  /** What a game filled itself says of each row whether it is one. */
  #checkRows(method: GameMethod, e: number): void {
    const view = this.#views[e];
    const stride = this.#entries[e].shape[1];
    for (let i = stride - 1; i < view.length; i += stride) {
      if (view[i] === 0 || view[i] === 1) continue;
      const field = this.#place(e, i);
      const text = `${method}() gave ${field} = ${view[i]}, expected 1 where the row is a thing of the set, else 0`;
      throw new GameError("shape", method, field, text);
    }
  }

  #checkChoices(method: GameMethod, e: number, highest: Int32Array): void {
    const view = this.#views[e];
    for (let i = 0; i < view.length; i++) {
      if (view[i] < 0 || view[i] > highest[i]) throw this.#wholeError(method, e, i, view[i]);
    }
  }

  #wholeError(method: GameMethod, e: number, i: number, number: number): GameError {
    const field = this.#place(e, i);
    const range = `a whole number from 0 to ${this.#highest[e]?.[i] ?? 255}`;
    return new GameError("shape", method, field, `${method}() gave ${field} = ${number}, expected ${range}`);
  }

  #numberError(method: GameMethod, e: number, i: number, number: unknown): GameError {
    const field = this.#place(e, i);
    const text = `${method}() returned ${field} = ${show(number)}, expected a number`;
    return new GameError("shape", method, field, text);
  }

  /** Number `i` of an entry by its name: of a set by row and column. */
  #place(e: number, i: number): string {
    const { name, space, shape } = this.#entries[e];
    const place = space.kind === "set" ? `${Math.floor(i / shape[1])}][${i % shape[1]}` : i;
    return `${this.#field(name)}[${place}]`;
  }

  #field(name: string): string {
    return name === "" ? this.#label : `${this.#label}.${name}`;
  }

  #shapeError(method: GameMethod, field: string, source: unknown, shape: number[], size: number): GameError {
    const length = (source as ArrayLike<number> | null | undefined)?.length;
    const came = typeof length === "number" ? `${length} numbers` : show(source);
    const text = `${method}() returned ${field} with ${came}, expected ${size} numbers (shape [${shape.join(", ")}])`;
    return new GameError("shape", method, field, text);
  }

  #finiteError(method: GameMethod, e: number, i: number): GameError {
    const field = this.#place(e, i);
    const number = this.#views[e][i];
    const isReturned = this.#returnedBy === method;
    const hint =
      method === "start" && !isReturned ? "; return an observation or fill all of out.observation" : "";
    return new GameError(
      "nan",
      method,
      field,
      `${method}() ${isReturned ? "returned" : "left"} ${field} = ${number}, expected a finite number${hint}`,
    );
  }
}

function entryOf(name: string, space: LeafSpace): ObservationEntry {
  return { name, ...leafLayout(space), space };
}
