/** The spaces a game may observe and act in, as plain JSON objects: the table of their kinds, and what is asked of any. */

import { checkSpaceBounds } from "./bounds.ts";
import { ConfigurationError, show } from "./errors.ts";
import { BOX, type BoxSpace } from "./spaces/box.ts";
import { DISCRETE, type DiscreteSpace } from "./spaces/discrete.ts";
import { product, type SpaceKind } from "./spaces/kind.ts";
import { MIXED, type MixedSpace } from "./spaces/mixed.ts";
import { MULTI_BINARY, type MultiBinarySpace } from "./spaces/multi-binary.ts";
import { MULTI_DISCRETE, type MultiDiscreteSpace } from "./spaces/multi-discrete.ts";
import { SET, type SetSpace } from "./spaces/set.ts";

export { type BoxOptions, type BoxSpace, box, boxLimit, boxSize } from "./spaces/box.ts";
export { type DiscreteSpace, discrete } from "./spaces/discrete.ts";
export {
  createNamer,
  type MixedSpace,
  mixed,
  mixedParts,
  type NamedAction,
  namedMask,
} from "./spaces/mixed.ts";
export { type MultiBinarySpace, multiBinary } from "./spaces/multi-binary.ts";
export { type MultiDiscreteSpace, multiDiscrete } from "./spaces/multi-discrete.ts";
export { type SetSpace, set } from "./spaces/set.ts";

type FlatSpace = LeafSpace | MixedSpace;

const KINDS: { [K in FlatSpace["kind"]]: SpaceKind<Extract<FlatSpace, { kind: K }>> } = {
  box: BOX,
  discrete: DISCRETE,
  multi_discrete: MULTI_DISCRETE,
  multi_binary: MULTI_BINARY,
  mixed: MIXED,
  set: SET,
};

/** What an entry of a dict may be: policies see choices as one-hots. */
export type LeafSpace = BoxSpace | SetSpace | DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace;

/** Several named observations. */
export interface DictSpace {
  kind: "dict";
  spaces: Record<string, LeafSpace>;
}

export type Space = LeafSpace | MixedSpace | DictSpace;
export type ObservationSpace = BoxSpace | SetSpace | DictSpace;
export type ActionSpace = Exclude<LeafSpace, SetSpace> | MixedSpace;

/** Named boxes, sets or choices; the order of keys never matters, everything downstream sorts them. */
export function dict(spaces: Record<string, LeafSpace>): DictSpace {
  return { kind: "dict", spaces: { ...spaces } };
}

/** The row of a space's own kind: it takes that space, whichever kind it is. */
function kindOf(space: FlatSpace): SpaceKind<FlatSpace> {
  return KINDS[space.kind] as SpaceKind<FlatSpace>;
}

/** Shape of one value in memory, empty for a bare number, and what its numbers are stored as. */
export function leafLayout(space: FlatSpace): {
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
  const counts = Array.from({ length: numActionComponents(space) }, (_, c) => choices(space, c));
  // Real numbers, which none is forbidden of, are the last components.
  return counts.filter((count) => count !== null);
}

/** Length of `out.actionMask`: one byte per choice, 1 = allowed. Raises ConfigurationError for spaces that take no mask. */
export function actionMaskSize(space: ActionSpace): number {
  if (kindOf(space).takesMask) return maskGroups(space).reduce((sum, n) => sum + n, 0);
  const builders = Object.values(KINDS).flatMap((kind) => (kind.takesMask ? [kind.builder] : []));
  throw new ConfigurationError(
    "actionMask",
    `works with ${builders.join(" and ")} actions, not ${space.kind}`,
  );
}

/** Lowest and highest value of element `index`; infinite where a box is unbounded. */
export function leafLimits(space: FlatSpace, index: number): readonly [low: number, high: number] {
  return kindOf(space).limits(space, index);
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
  const isObservation = ["box", "set", "dict"].includes(known.kind);
  if (field === "observation" && !isObservation) {
    throw new ConfigurationError(field, `must be a box, a set or a dict of them, got ${known.kind}`);
  }
  if (field === "action") {
    if (known.kind === "dict") throw new ConfigurationError(field, "dict is for observations only");
    kindOf(known).checkAction?.(field, known);
  }
}

function checkDict(field: string, space: DictSpace): void {
  const names = Object.keys(space.spaces);
  if (names.length === 0) throw new ConfigurationError(field, "dict needs at least one entry");
  for (const name of names) {
    const inner = space.spaces[name] as Space | undefined;
    if (typeof inner !== "object" || inner === null || inner.kind === "dict" || inner.kind === "mixed") {
      throw new ConfigurationError(
        field,
        `dict entry "${name}" must be a box, a set or a choice, got ${show(inner)}`,
      );
    }
    checkLeaf(`${field}.${name}`, inner);
  }
}

function checkLeaf(field: string, space: FlatSpace): void {
  if (!Object.hasOwn(KINDS, space.kind)) {
    const builders = Object.values(KINDS).map((kind) => kind.builder);
    throw new ConfigurationError(
      field,
      `unknown kind ${show(space.kind)}; known: ${builders.join(", ")}, dict`,
    );
  }
  kindOf(space).check(field, space);
  checkSpaceBounds(field, space);
}
