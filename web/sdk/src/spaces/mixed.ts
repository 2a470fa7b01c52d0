/** Several named parts that are one action: real numbers and choices together. */

import { MAX_NUMBERS } from "../bounds.gen.ts";
import { checkSpaceBounds } from "../bounds.ts";
import { ConfigurationError, show } from "../errors.ts";
import { BOX, type BoxSpace } from "./box.ts";
import { DISCRETE, type DiscreteSpace } from "./discrete.ts";
import { product, type SpaceKind } from "./kind.ts";
import { MULTI_DISCRETE, type MultiDiscreteSpace } from "./multi-discrete.ts";

export type PartSpace = BoxSpace | DiscreteSpace | MultiDiscreteSpace;

/** Named boxes and choices, of each at least one; the order of names never matters. */
export interface MixedSpace {
  kind: "mixed";
  spaces: Record<string, PartSpace>;
}

/** One agent's mixed action, as its game takes it: a number for `discrete`, an array otherwise, by name. */
export type NamedAction = Readonly<Record<string, number | ArrayLike<number>>>;

/** One part, and which components of the flat action it has: first those of all choices, then those of all boxes, by name. */
export interface MixedPart {
  readonly name: string;
  readonly space: PartSpace;
  readonly row: SpaceKind<PartSpace>;
  readonly from: number;
  readonly size: number;
  /** Whether an action has a bare number for it. */
  readonly isScalar: boolean;
}

const ROWS = { box: BOX, discrete: DISCRETE, multi_discrete: MULTI_DISCRETE };
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;
const known = new WeakMap<MixedSpace, readonly MixedPart[]>();

/** One action of several parts: `mixed({ aim: box({ ... }), shoot: discrete(["no", "yes"]) })`. */
export function mixed(spaces: Record<string, PartSpace>): MixedSpace {
  return { kind: "mixed", spaces: { ...spaces } };
}

/** The parts in the order of their components. */
export function mixedParts(space: MixedSpace): readonly MixedPart[] {
  const found = known.get(space);
  if (found !== undefined) return found;
  const isBox = (name: string) => Number(space.spaces[name].kind === "box");
  const names = Object.keys(space.spaces).sort((a, b) => isBox(a) - isBox(b) || (a < b ? -1 : 1));
  let from = 0;
  const parts = names.map((name) => {
    const part = space.spaces[name];
    const row = ROWS[part.kind] as SpaceKind<PartSpace>;
    const shape = row.shape(part);
    const size = product(shape);
    from += size;
    return { name, space: part, row, from: from - size, size, isScalar: shape.length === 0 };
  });
  known.set(space, parts);
  return parts;
}

/** What names flat actions of one agent; it returns the same object every time. */
export function createNamer(space: MixedSpace): (flat: ArrayLike<number>) => NamedAction {
  const parts = mixedParts(space);
  const named: Record<string, number | Int32Array | Float32Array> = {};
  for (const { name, space: part, size, isScalar } of parts)
    named[name] = isScalar ? 0 : part.kind === "box" ? new Float32Array(size) : new Int32Array(size);
  return (flat) => {
    for (const { name, from, size, isScalar } of parts) {
      if (isScalar) named[name] = flat[from];
      else {
        const values = named[name] as Float32Array;
        for (let c = 0; c < size; c++) values[c] = flat[from + c];
      }
    }
    return named;
  };
}

/** The parts of a mask by their names: views of `mask`. */
export function namedMask(space: MixedSpace, mask: Uint8Array): Record<string, Uint8Array> {
  const masks: Record<string, Uint8Array> = {};
  let from = 0;
  for (const { name, space: part, row, size } of mixedParts(space)) {
    if (!row.takesMask) continue;
    let end = from;
    for (let c = 0; c < size; c++) end += row.choices(part, c) ?? 0;
    masks[name] = mask.subarray(from, end);
    from = end;
  }
  return masks;
}

function partOf(space: MixedSpace, c: number): MixedPart {
  return mixedParts(space).find(({ from, size }) => c < from + size) as MixedPart;
}

export const MIXED: SpaceKind<MixedSpace> = {
  builder: "mixed",
  shape: (space) => [mixedParts(space).reduce((sum, { size }) => sum + size, 0)],
  dtype: () => "float32",
  choices(space, c) {
    const { row, space: part, from } = partOf(space, c);
    return row.choices(part, c - from);
  },
  limits(space, c) {
    const { row, space: part, from } = partOf(space, c);
    return row.limits(part, c - from);
  },
  takesMask: true,
  check(field, space) {
    if (typeof space.spaces !== "object" || space.spaces === null)
      throw new ConfigurationError(field, `mixed needs an object of named parts, got ${show(space.spaces)}`);
    let numbers = 0;
    for (const [name, part] of Object.entries<PartSpace | null | undefined>(space.spaces)) {
      if (!NAME.test(name))
        throw new ConfigurationError(
          field,
          `${show(name)} is no name of a part: a letter, then up to 31 letters, digits or _`,
        );
      const own = `${field}.${name}`;
      if (typeof part !== "object" || part === null || !Object.hasOwn(ROWS, part.kind))
        throw new ConfigurationError(
          own,
          `a part of mixed is a box, discrete or multiDiscrete, got ${show(part?.kind ?? part)}`,
        );
      const row = ROWS[part.kind] as SpaceKind<PartSpace>;
      row.check(own, part);
      row.checkAction?.(own, part);
      checkSpaceBounds(own, part);
      if (part.kind !== "box") continue;
      numbers += product(part.shape);
      if (numbers > MAX_NUMBERS)
        throw new ConfigurationError(own, `${numbers} real numbers, the limit of mixed is ${MAX_NUMBERS}`);
    }
    const parts = Object.values(space.spaces);
    if (numbers === 0 || parts.every(({ kind }) => kind === "box"))
      throw new ConfigurationError(
        field,
        "mixed needs a box and a discrete or multiDiscrete part; boxes alone are one box, choices alone one multiDiscrete",
      );
  },
};
