/** What games take actions and return numbers in. */

import type { NamedAction } from "./spaces/mixed.ts";

/** One row of numbers for each thing of a `set`. */
export type SetValue = ArrayLike<ArrayLike<number>>;

/**
 * What a game may return as an observation: anything array-like of the right length, the rows of a `set`, or an object of those
 * for a `dict`, where a single number will do for an entry of one.
 */
export type ObservationValue =
  | ArrayLike<number>
  | SetValue
  | Record<string, ArrayLike<number> | SetValue | number>;

/** One value with one agent, an array with several. */
export type PerAgent<T> = T | ArrayLike<T>;

/**
 * One agent's action: an index for `discrete`, a number per component otherwise. A `mixed` action travels so as well, its choices
 * before its real numbers, and reaches the game as a `NamedAction`.
 */
export type Action = number | ArrayLike<number>;

/** An action as the game's author writes it: what `update` gets, or `act` of a page. */
export type GivenAction = Action | ArrayLike<Action> | NamedAction | readonly NamedAction[];
