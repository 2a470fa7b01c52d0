/** The spaces a game may observe and act in, as plain JSON objects. */

import { ConfigurationError, show } from "./errors.ts";

/** Real numbers or bytes of a fixed shape; `low` and `high` are one number, one number per element, or null (unbounded). */
export interface BoxSpace {
  kind: "box";
  dtype: "float32" | "uint8";
  shape: number[];
  low: number | number[] | null;
  high: number | number[] | null;
}

const FLOAT32_MAX = 3.4028234663852886e38;

/** One of `n` choices, an integer in [0, n). */
export interface DiscreteSpace {
  kind: "discrete";
  n: number;
  labels: string[] | null;
}

/** Several choices at once, component i an integer in [0, nvec[i]). */
export interface MultiDiscreteSpace {
  kind: "multi_discrete";
  nvec: number[];
}

/** `n` switches, each 0 or 1. */
export interface MultiBinarySpace {
  kind: "multi_binary";
  n: number;
}

/** What an entry of a dict may be: policies see choices as one-hots. */
export type LeafSpace = BoxSpace | DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace;

/** Several named observations. */
export interface DictSpace {
  kind: "dict";
  spaces: Record<string, LeafSpace>;
}

export type Space = LeafSpace | DictSpace;
export type ObservationSpace = BoxSpace | DictSpace;
export type ActionSpace = LeafSpace;

export interface BoxOptions {
  /** Sizes of the axes, each at least 1; `[4]` is a vector of four. */
  shape: readonly number[];
  low?: number | readonly number[] | null;
  high?: number | readonly number[] | null;
  dtype?: "float32" | "uint8";
}

/** A box of `shape`. Without limits float32 is unbounded and uint8 spans 0 to 255. */
export function box(options: BoxOptions): BoxSpace {
  const dtype = options.dtype ?? "float32";
  const isByte = dtype === "uint8";
  return {
    kind: "box",
    dtype,
    shape: [...options.shape],
    low: copyLimit(options.low, isByte ? 0 : null),
    high: copyLimit(options.high, isByte ? 255 : null),
  };
}

/** `discrete(4)`, or with a name per choice `discrete(["up", "down"])`. */
export function discrete(choices: number | readonly string[]): DiscreteSpace {
  return typeof choices === "number"
    ? { kind: "discrete", n: choices, labels: null }
    : { kind: "discrete", n: choices.length, labels: [...choices] };
}

/** Independent choices of `nvec[i]` values each. */
export function multiDiscrete(nvec: readonly number[]): MultiDiscreteSpace {
  return { kind: "multi_discrete", nvec: [...nvec] };
}

/** `n` independent switches. */
export function multiBinary(n: number): MultiBinarySpace {
  return { kind: "multi_binary", n };
}

/** Named boxes or choices; the order of keys never matters, everything downstream sorts them. */
export function dict(spaces: Record<string, LeafSpace>): DictSpace {
  return { kind: "dict", spaces: { ...spaces } };
}

/** What is to be known of one kind of space: the row that a new kind adds. */
interface SpaceKind<S extends LeafSpace> {
  /** Of one value in memory; empty for a bare number. */
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
}

const KINDS: { [K in LeafSpace["kind"]]: SpaceKind<Extract<LeafSpace, { kind: K }>> } = {
  box: {
    shape: (space) => [...space.shape],
    dtype: (space) => space.dtype,
    choices: () => null,
    limits: (space, c) => [
      boxLimit(space.low, c, Number.NEGATIVE_INFINITY),
      boxLimit(space.high, c, Number.POSITIVE_INFINITY),
    ],
    takesMask: false,
    check: checkBox,
  },
  discrete: {
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
  },
  multi_discrete: {
    shape: (space) => [space.nvec.length],
    dtype: () => "int32",
    choices: (space, c) => space.nvec[c],
    limits: (space, c) => [0, space.nvec[c] - 1],
    takesMask: true,
    check(field, space) {
      if (space.nvec.length === 0)
        throw new ConfigurationError(field, "multiDiscrete needs at least one component");
      for (const n of space.nvec) checkCount(field, "nvec", n, 1);
    },
  },
  multi_binary: {
    shape: (space) => [space.n],
    dtype: () => "uint8",
    choices: () => 2,
    limits: () => [0, 1],
    takesMask: false,
    check: (field, space) => checkCount(field, "n", space.n, 1),
  },
};

/** The row of a space's own kind: it takes that space, whichever kind it is. */
function kindOf(space: LeafSpace): SpaceKind<LeafSpace> {
  return KINDS[space.kind] as SpaceKind<LeafSpace>;
}

/** Number of scalars in one value of a box. */
export function boxSize(space: BoxSpace): number {
  return product(space.shape);
}

/** Shape of one value in memory, empty for a bare number, and what its numbers are stored as. */
export function leafLayout(space: LeafSpace): {
  shape: number[];
  size: number;
  dtype: "float32" | "uint8" | "int32";
} {
  const kind = kindOf(space);
  const shape = kind.shape(space);
  return { shape, size: product(shape), dtype: kind.dtype(space) };
}

/** How many independent numbers are drawn for one action: one per component. */
export function numActionComponents(space: ActionSpace): number {
  return product(kindOf(space).shape(space));
}

/** Whether an action is a bare number instead of one per component. */
export function isScalarAction(space: ActionSpace): boolean {
  return kindOf(space).shape(space).length === 0;
}

/** How many choices component `c` of an action is one of; null where it is a real number. */
export function numChoices(space: ActionSpace, c: number): number | null {
  return kindOf(space).choices(space, c);
}

/** Choices per component of an action mask, which has one byte for each; none for spaces that take no mask. */
export function maskGroups(space: ActionSpace): number[] {
  const { takesMask, choices } = kindOf(space);
  if (!takesMask) return [];
  return Array.from({ length: numActionComponents(space) }, (_, c) => choices(space, c) ?? 0);
}

/** Length of `out.actionMask`: one byte per choice, 1 = allowed. Raises ConfigurationError for spaces that take no mask. */
export function actionMaskSize(space: ActionSpace): number {
  if (kindOf(space).takesMask) return maskGroups(space).reduce((sum, n) => sum + n, 0);
  throw new ConfigurationError(
    "actionMask",
    `works with discrete and multiDiscrete actions, not ${space.kind}`,
  );
}

/** Limit of element `index` of a box, `unbounded` when it has none. */
export function boxLimit(limit: number | number[] | null, index: number, unbounded: number): number {
  if (limit === null) return unbounded;
  return typeof limit === "number" ? limit : limit[index];
}

/** Lowest and highest value of element `index`; infinite where a box is unbounded. */
export function leafLimits(space: LeafSpace, index: number): readonly [low: number, high: number] {
  return kindOf(space).limits(space, index);
}

function product(shape: readonly number[]): number {
  return shape.reduce((size, length) => size * length, 1);
}

/** Raises ConfigurationError unless `space` is a space this `role` may have; names what is wrong. */
export function checkSpace(field: "observation" | "action", space: unknown): asserts space is Space {
  if (typeof space !== "object" || space === null || !("kind" in space)) {
    const example = field === "observation" ? "box({ shape: [4] })" : 'discrete(["left", "right"])';
    throw new ConfigurationError(field, `needs a space such as ${example}, got ${show(space)}`);
  }
  const known = space as Space;
  if (known.kind === "dict") checkDict(field, known);
  else checkLeaf(field, known);
  const isObservation = known.kind === "box" || known.kind === "dict";
  if (field === "observation" && !isObservation) {
    throw new ConfigurationError(field, `must be a box or a dict of boxes, got ${known.kind}`);
  }
  if (field === "action") {
    if (known.kind === "dict") throw new ConfigurationError(field, "dict is for observations only");
    if (known.kind === "box" && (known.dtype !== "float32" || known.low === null || known.high === null)) {
      throw new ConfigurationError(field, "a box action is float32 and needs finite low and high");
    }
  }
}

function checkDict(field: string, space: DictSpace): void {
  const names = Object.keys(space.spaces);
  if (names.length === 0) throw new ConfigurationError(field, "dict needs at least one entry");
  for (const name of names) {
    const inner = space.spaces[name] as Space | undefined;
    if (typeof inner !== "object" || inner === null || inner.kind === "dict") {
      throw new ConfigurationError(
        field,
        `dict entry "${name}" must be a box or a choice, got ${show(inner)}`,
      );
    }
    checkLeaf(`${field}.${name}`, inner);
  }
}

function checkLeaf(field: string, space: LeafSpace): void {
  if (!Object.hasOwn(KINDS, space.kind)) {
    throw new ConfigurationError(
      field,
      `unknown kind ${show(space.kind)}; known: box, discrete, multiDiscrete, multiBinary, dict`,
    );
  }
  kindOf(space).check(field, space);
}

function checkBox(field: string, space: BoxSpace): void {
  if (!Array.isArray(space.shape) || space.shape.length === 0) {
    throw new ConfigurationError(field, `box needs a shape such as [4], got ${show(space.shape)}`);
  }
  for (const length of space.shape) checkCount(field, "shape", length, 1);
  if (space.dtype !== "float32" && space.dtype !== "uint8") {
    throw new ConfigurationError(field, `dtype must be "float32" or "uint8", got ${show(space.dtype)}`);
  }
  const size = boxSize(space);
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

function checkCount(field: string, name: string, value: unknown, least: number): void {
  if (!Number.isInteger(value) || (value as number) < least) {
    throw new ConfigurationError(field, `${name} must be a whole number >= ${least}, got ${show(value)}`);
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
