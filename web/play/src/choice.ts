/** From a model's outputs to what a game is given: the likeliest action, one that is drawn, or a mistake. */

import { AgentError } from "./errors.ts";
import type { Numbers } from "./tensor.ts";

/** A game's action, as `attract` describes it. */
export type ActionSpace =
  | { kind: "discrete"; n: number; labels?: string[] | null }
  | { kind: "multi_discrete"; nvec: number[] }
  | { kind: "multi_binary"; n: number }
  | BoxSpace
  | { kind: "mixed"; spaces: Record<string, PartSpace> };

type BoxSpace = { kind: "box"; shape: number[]; low: number | number[]; high: number | number[] };
type PartSpace = Extract<ActionSpace, { kind: "discrete" | "multi_discrete" | "box" }>;

/** A number; or several choices, switches, or the numbers of a box in the game's units. */
type PlainAction = number | Int32Array | Float32Array;
/** The same; of a mixed action one for each part, by name. */
export type Action = PlainAction | Record<string, PlainAction>;

export type FlatAction = number | ArrayLike<number>;

/** Which choices are allowed, 1 or true, as the game's `action_mask` has them; of several choices side by side. */
export type Mask = ArrayLike<number | boolean>;

/** Chooses among the actions of one space. */
export interface Chooser {
  /** How many numbers a mask has; 0 where there is none. */
  readonly maskSize: number;
  /**
   * An action by the policy.
   *
   * @param temperature 0: the likeliest; 1: drawn as in training; between them, and above 1, more or less evenly.
   * @param random numbers in [0, 1).
   */
  choose(
    outputs: ReadonlyMap<string, Numbers>,
    mask: Mask | null,
    temperature: number,
    random: () => number,
  ): Action;
  /** Any allowed action, each as likely as another. */
  guess(mask: Mask | null, random: () => number): Action;
}

/** The chooser of a space. */
export function chooserOf(space: ActionSpace): Chooser {
  if (space.kind === "discrete") return new Choices([space.n], true);
  if (space.kind === "multi_discrete") return new Choices(space.nvec, false);
  if (space.kind === "multi_binary") return new Switches(space.n);
  return space.kind === "mixed" ? new Mixed(space.spaces) : new Box(space);
}

class Choices implements Chooser {
  readonly maskSize: number;
  readonly #nvec: readonly number[];
  readonly #isScalar: boolean;

  constructor(nvec: readonly number[], isScalar: boolean) {
    this.#nvec = nvec;
    this.#isScalar = isScalar;
    this.maskSize = nvec.reduce((sum, n) => sum + n, 0);
  }

  choose(
    outputs: ReadonlyMap<string, Numbers>,
    mask: Mask | null,
    temperature: number,
    random: () => number,
  ): PlainAction {
    return this.#each(outputs.get("logits")!, mask, temperature, random);
  }

  guess(mask: Mask | null, random: () => number): PlainAction {
    return this.#each(new Float32Array(this.maskSize), mask, 1, random);
  }

  #each(logits: Numbers, mask: Mask | null, temperature: number, random: () => number): PlainAction {
    const chosen = new Int32Array(this.#nvec.length);
    let at = 0;
    for (const [component, n] of this.#nvec.entries()) {
      chosen[component] = pick(logits, mask, at, n, temperature, random);
      at += n;
    }
    return this.#isScalar ? chosen[0] : chosen;
  }
}

/** One of the `n` choices from `at` on. */
function pick(
  logits: Numbers,
  mask: Mask | null,
  at: number,
  n: number,
  temperature: number,
  random: () => number,
): number {
  let likeliest = -1;
  for (let i = 0; i < n; i++) {
    if (mask !== null && !mask[at + i]) continue;
    if (likeliest < 0 || logits[at + i] > logits[at + likeliest]) likeliest = i;
  }
  if (likeliest < 0) throw new AgentError("the mask forbids every choice; one has to be allowed");
  if (temperature === 0) return likeliest;
  const weights = Float64Array.from({ length: n }, (_, i) =>
    mask !== null && !mask[at + i] ? 0 : Math.exp((logits[at + i] - logits[at + likeliest]) / temperature),
  );
  let left = random() * weights.reduce((sum, one) => sum + one, 0);
  for (let i = 0; i < n; i++) {
    left -= weights[i];
    if (left < 0) return i;
  }
  // What rounding leaves.
  return likeliest;
}

class Switches implements Chooser {
  readonly maskSize = 0;
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  choose(
    outputs: ReadonlyMap<string, Numbers>,
    _mask: Mask | null,
    temperature: number,
    random: () => number,
  ): Action {
    const logits = outputs.get("logits")!;
    return Int32Array.from({ length: this.#n }, (_, i) => {
      if (temperature === 0) return logits[i] > 0 ? 1 : 0;
      return random() < 1 / (1 + Math.exp(-logits[i] / temperature)) ? 1 : 0;
    });
  }

  guess(_mask: Mask | null, random: () => number): Action {
    return Int32Array.from({ length: this.#n }, () => (random() < 0.5 ? 0 : 1));
  }
}

class Box implements Chooser {
  readonly maskSize = 0;
  readonly #low: Float64Array;
  readonly #high: Float64Array;

  /** @param boxes side by side. */
  constructor(...boxes: readonly BoxSpace[]) {
    const each = (side: "low" | "high"): Float64Array =>
      Float64Array.from(
        boxes.flatMap(({ shape, [side]: bound }) => {
          return Array.from({ length: boxSize({ shape }) }, (_, i) =>
            typeof bound === "number" ? bound : bound[i],
          );
        }),
      );
    this.#low = each("low");
    this.#high = each("high");
  }

  choose(
    outputs: ReadonlyMap<string, Numbers>,
    _mask: Mask | null,
    temperature: number,
    random: () => number,
  ): Float32Array {
    const mean = outputs.get("mean")!;
    const logStd = outputs.get("log_std")!;
    return this.#scaled((i) => {
      if (temperature === 0) return mean[i];
      return mean[i] + temperature * Math.exp(logStd[i]) * normal(random);
    });
  }

  guess(_mask: Mask | null, random: () => number): Float32Array {
    return this.#scaled(() => 2 * random() - 1);
  }

  /** From [-1, 1], and clipped to it, into the game's units. */
  #scaled(unit: (i: number) => number): Float32Array {
    return Float32Array.from(this.#low, (low, i) => {
      const clipped = Math.min(Math.max(unit(i), -1), 1);
      return low + ((clipped + 1) / 2) * (this.#high[i] - low);
    });
  }
}

function boxSize({ shape }: Pick<BoxSpace, "shape">): number {
  return shape.reduce((product, dim) => product * dim, 1);
}

/** Choices and boxes by name: all choices are one part of the outputs, all boxes another, each by sorted name. */
class Mixed implements Chooser {
  readonly maskSize: number;
  readonly #choices: Choices;
  readonly #box: Box;
  readonly #parts: readonly (readonly [name: string, part: PartSpace])[];

  constructor(spaces: Record<string, PartSpace>) {
    const parts = Object.entries(spaces).sort(([a], [b]) => (a < b ? -1 : 1));
    const boxes = parts.filter(([, { kind }]) => kind === "box");
    const chosen = parts.filter(([, { kind }]) => kind !== "box");
    this.#parts = [...chosen, ...boxes];
    this.#choices = new Choices(
      chosen.flatMap(([, part]) => (part.kind === "discrete" ? [part.n] : (part as { nvec: number[] }).nvec)),
      false,
    );
    this.#box = new Box(...boxes.map(([, part]) => part as BoxSpace));
    this.maskSize = this.#choices.maskSize;
  }

  choose(
    outputs: ReadonlyMap<string, Numbers>,
    mask: Mask | null,
    temperature: number,
    random: () => number,
  ): Action {
    const chosen = this.#choices.choose(outputs, mask, temperature, random) as Int32Array;
    return this.#named(chosen, this.#box.choose(outputs, null, temperature, random));
  }

  guess(mask: Mask | null, random: () => number): Action {
    const chosen = this.#choices.guess(mask, random) as Int32Array;
    return this.#named(chosen, this.#box.guess(null, random));
  }

  #named(chosen: Int32Array, moved: Float32Array): Action {
    const named: Record<string, PlainAction> = {};
    const from = { chosen: 0, moved: 0 };
    for (const [name, part] of this.#parts) {
      if (part.kind === "box") {
        named[name] = moved.slice(from.moved, from.moved + boxSize(part));
        from.moved += boxSize(part);
      } else {
        const size = part.kind === "discrete" ? 1 : part.nvec.length;
        const own = chosen.slice(from.chosen, from.chosen + size);
        named[name] = part.kind === "discrete" ? own[0] : own;
        from.chosen += size;
      }
    }
    return named;
  }
}

/** An action as an instance takes it: of a mixed one its parts in the order of their components. */
export function flatAction(action: Action): FlatAction {
  if (typeof action === "number" || ArrayBuffer.isView(action)) return action as FlatAction;
  return Object.values(action).flatMap((part) => (typeof part === "number" ? [part] : Array.from(part)));
}

/** A mask by the names of its parts as the model takes it. */
export function flatMask(mask: Mask | Readonly<Record<string, Mask>>): Mask {
  if (typeof mask.length === "number") return mask as Mask;
  const named = mask as Readonly<Record<string, Mask>>;
  const names = Object.keys(named).sort((a, b) => (a < b ? -1 : 1));
  return names.flatMap((name) => Array.from(named[name]));
}

/** A draw of the standard normal distribution (Box and Muller 1958). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
