/** One choice. */

import { ConfigurationError, show } from "../errors.ts";
import { checkCount, copyList, type SpaceKind } from "./kind.ts";

/** One of `n` choices, an integer in [0, n). */
export interface DiscreteSpace {
  kind: "discrete";
  n: number;
  labels: string[] | null;
}

/** `discrete(4)`, or with a name per choice `discrete(["up", "down"])`. */
export function discrete(choices: number | readonly string[]): DiscreteSpace {
  const given = copyList(choices as readonly string[]);
  return Array.isArray(given)
    ? { kind: "discrete", n: given.length, labels: given }
    : { kind: "discrete", n: choices as number, labels: null };
}

export const DISCRETE: SpaceKind<DiscreteSpace> = {
  builder: "discrete",
  shape: () => [],
  dtype: () => "int32",
  choices: (space) => space.n,
  limits: (space) => [0, space.n - 1],
  takesMask: true,
  check(field, space) {
    checkCount(field, "n", space.n, 1);
    if (space.labels !== null && new Set(space.labels).size !== space.labels.length) {
      throw new ConfigurationError(field, `labels must differ from each other, got ${show(space.labels)}`);
    }
  },
};
