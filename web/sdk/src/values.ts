/** What games return numbers in. */

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
