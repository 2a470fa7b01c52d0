/** Switches. */

import { checkCount, type SpaceKind } from "./kind.ts";

/** `n` switches, each 0 or 1. */
export interface MultiBinarySpace {
  kind: "multi_binary";
  n: number;
}

/** `n` independent switches. */
export function multiBinary(n: number): MultiBinarySpace {
  return { kind: "multi_binary", n };
}

export const MULTI_BINARY: SpaceKind<MultiBinarySpace> = {
  builder: "multiBinary",
  shape: (space) => [space.n],
  dtype: () => "uint8",
  choices: () => 2,
  limits: () => [0, 1],
  takesMask: false,
  check: (field, space) => checkCount(field, "n", space.n, 1),
};
