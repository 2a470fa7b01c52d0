/** Real numbers, or bytes. */

import { MAX_ELEMENTS } from "../bounds.gen.ts";
import { ConfigurationError, show } from "../errors.ts";
import { checkCount, copyList, product, type SpaceKind } from "./kind.ts";

const FLOAT32_MAX = 3.4028234663852886e38;

/** Real numbers or bytes of a fixed shape; `low` and `high` are one number, one number per element, or null (unbounded). */
export interface BoxSpace {
  kind: "box";
  dtype: "float32" | "uint8";
  shape: number[];
  low: number | number[] | null;
  high: number | number[] | null;
}

export interface BoxOptions {
  /** Sizes of the axes, each at least 1; `[4]` is a vector of four. */
  shape: readonly number[];
  low?: number | readonly number[] | null;
  high?: number | readonly number[] | null;
  dtype?: "float32" | "uint8";
}

/** A box of `shape`. Without limits float32 is unbounded and uint8 spans 0 to 255. */
export function box(options: BoxOptions): BoxSpace {
  // Given nothing, or not as a list: the check names it.
  const { shape, low, high } = options ?? {};
  const dtype = options?.dtype ?? "float32";
  const isByte = dtype === "uint8";
  return {
    kind: "box",
    dtype,
    shape: copyList(shape),
    low: copyLimit(low, isByte ? 0 : null),
    high: copyLimit(high, isByte ? 255 : null),
  };
}

/** Number of scalars in one value of a box. */
export function boxSize(space: BoxSpace): number {
  return product(space.shape);
}

/** Limit of element `index` of a box, `unbounded` when it has none. */
export function boxLimit(limit: number | number[] | null, index: number, unbounded: number): number {
  if (limit === null) return unbounded;
  return typeof limit === "number" ? limit : limit[index];
}

export const BOX: SpaceKind<BoxSpace> = {
  builder: "box",
  shape: (space) => [...space.shape],
  dtype: (space) => space.dtype,
  choices: () => null,
  limits: (space, c) => [
    boxLimit(space.low, c, Number.NEGATIVE_INFINITY),
    boxLimit(space.high, c, Number.POSITIVE_INFINITY),
  ],
  takesMask: false,
  check: checkBox,
  checkAction(field, space) {
    if (space.dtype !== "float32" || space.low === null || space.high === null) {
      throw new ConfigurationError(field, "a box action is float32 and needs finite low and high");
    }
  },
};

function checkBox(field: string, space: BoxSpace): void {
  if (!Array.isArray(space.shape) || space.shape.length === 0) {
    throw new ConfigurationError(field, `box needs a shape such as [4], got ${show(space.shape)}`);
  }
  for (const length of space.shape) checkCount(field, "shape", length, 1);
  if (space.dtype !== "float32" && space.dtype !== "uint8") {
    throw new ConfigurationError(field, `dtype must be "float32" or "uint8", got ${show(space.dtype)}`);
  }
  const size = boxSize(space);
  if (size > MAX_ELEMENTS) {
    throw new ConfigurationError(
      field,
      `shape ${show(space.shape)} has ${size} numbers, the limit is ${MAX_ELEMENTS}`,
    );
  }
  for (const name of ["low", "high"] as const) {
    const limit = space[name];
    if (Array.isArray(limit) && limit.length !== size) {
      throw new ConfigurationError(
        field,
        `${name} has ${limit.length} entries, shape ${show(space.shape)} needs ${size}`,
      );
    }
  }
  for (let i = 0; i < size; i++) {
    const low = boxLimit(space.low, i, Number.NEGATIVE_INFINITY);
    const high = boxLimit(space.high, i, Number.POSITIVE_INFINITY);
    if (!(low < high))
      throw new ConfigurationError(field, `low ${low} must be less than high ${high} (element ${i})`);
  }
}

/** JSON has no Infinity: an unbounded limit is null, and within an array the largest float32. */
function copyLimit(
  limit: number | readonly number[] | null | undefined,
  fallback: number | null,
): number | number[] | null {
  if (limit === undefined || limit === null) return fallback;
  if (typeof limit === "number") return Number.isFinite(limit) ? limit : null;
  return limit.map((value) => Math.max(-FLOAT32_MAX, Math.min(FLOAT32_MAX, value)));
}
