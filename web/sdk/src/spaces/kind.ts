/** What is to be known of one kind of space: the row that a new kind adds. */

import { ConfigurationError, show } from "../errors.ts";

export interface SpaceKind<S> {
  /** What games build it with. */
  builder: string;
  /** Shape of one value in memory; empty for a bare number. */
  shape(space: S): number[];
  dtype(space: S): "float32" | "uint8" | "int32";
  /** How many choices component `c` of a value is one of; null where it is a real number. */
  choices(space: S, c: number): number | null;
  /** Lowest and highest value of component `c`; infinite where it is unbounded. */
  limits(space: S, c: number): readonly [low: number, high: number];
  /** Whether a game may forbid some of the choices. */
  takesMask: boolean;
  /** Raises ConfigurationError. */
  check(field: string, space: S): void;
  /** What an action has to be besides. Raises ConfigurationError. */
  checkAction?(field: string, space: S): void;
}

/** Raises ConfigurationError unless `value`, called `name` in a space, is a whole number of at least `least`. */
export function checkCount(field: string, name: string, value: unknown, min: number): void {
  if (!Number.isInteger(value) || (value as number) < min) {
    throw new ConfigurationError(field, `${name} must be a whole number >= ${min}, got ${show(value)}`);
  }
}

/** A copy of a list that a game gave; what is none stays, for `check` to name it. */
export function copyList<T>(list: readonly T[]): T[] {
  return typeof list === "object" && list !== null && Symbol.iterator in list ? [...list] : list;
}

/** Number of scalars in one value of `shape`. */
export function product(shape: readonly number[]): number {
  return shape.reduce((size, length) => size * length, 1);
}
