/** Things in any order. */

import { ConfigurationError, show } from "../errors.ts";
import { checkCount, copyList, type SpaceKind } from "./kind.ts";

/** Up to `max` things in any order, each of `shape[0]` numbers. */
export interface SetSpace {
  kind: "set";
  max: number;
  shape: number[];
}

/** `set({ max: 32, shape: [4] })`: an observation is a list of up to 32 rows of four numbers each, in any order. */
export function set(options: { max: number; shape: readonly number[] }): SetSpace {
  const { max, shape } = options ?? {};
  return { kind: "set", max, shape: copyList(shape) };
}

/** In memory each row is its numbers and then a 1; zeros after the last. */
export const SET: SpaceKind<SetSpace> = {
  builder: "set",
  shape: ({ max, shape }) => [max, shape[0] + 1],
  dtype: () => "float32",
  choices: () => null,
  limits: ({ shape }, c) =>
    c % (shape[0] + 1) === shape[0] ? [0, 1] : [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  takesMask: false,
  check(field, { max, shape }) {
    if (!Array.isArray(shape) || shape.length === 0) {
      throw new ConfigurationError(
        field,
        `set needs the shape of one thing, such as [4], got ${show(shape)}`,
      );
    }
    checkCount(field, "max", max, 1);
    checkCount(field, "shape", shape[0], 1);
  },
  checkAction(field) {
    throw new ConfigurationError(field, "set is for observations only");
  },
};
