/** What games return numbers in. */

/**
 * What a game may return as an observation: anything array-like of the right length, or an object of those for a `dict`, where a
 * single number will do for an entry of one.
 */
export type ObservationValue = ArrayLike<number> | Record<string, ArrayLike<number> | number>;

/** One value with one agent, an array with several. */
export type PerAgent<T> = T | ArrayLike<T>;
