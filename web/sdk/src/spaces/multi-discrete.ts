/** Several choices at once. */

import { ConfigurationError, show } from "../errors.ts";
import { checkCount, copyList, type SpaceKind } from "./kind.ts";

/** Several choices at once, component i an integer in [0, nvec[i]). */
export interface MultiDiscreteSpace {
  kind: "multi_discrete";
  nvec: number[];
}

/** Independent choices of `nvec[i]` values each. */
export function multiDiscrete(nvec: readonly number[]): MultiDiscreteSpace {
  return { kind: "multi_discrete", nvec: copyList(nvec) };
}

export const MULTI_DISCRETE: SpaceKind<MultiDiscreteSpace> = {
  builder: "multiDiscrete",
  shape: (space) => [space.nvec.length],
  dtype: () => "int32",
  choices: (space, c) => space.nvec[c],
  limits: (space, c) => [0, space.nvec[c] - 1],
  takesMask: true,
  check(field, space) {
    if (!Array.isArray(space.nvec) || space.nvec.length === 0)
      throw new ConfigurationError(
        field,
        `multiDiscrete needs a list of counts, such as [3, 2], got ${show(space.nvec)}`,
      );
    for (const n of space.nvec) checkCount(field, "nvec", n, 1);
  },
};
