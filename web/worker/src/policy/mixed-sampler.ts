/** Choices and real numbers in one action, each drawn as where they are alone. */

import { actionMaskSize, leafLimits, type MixedSpace, maskGroups, numActionComponents } from "attract/spaces";
import type { ActionSampler } from "./action-sampler.ts";
import { CategoricalSampler } from "./categorical-sampler.ts";
import { GaussianSampler } from "./gaussian-sampler.ts";

/** Samples `mixed` actions: of outputs, draws and components the choices' come first. See `ActionSampler`. */
export class MixedSampler implements ActionSampler {
  readonly outputNames: readonly string[];
  readonly outputSizes: readonly number[];
  readonly numComponents: number;
  readonly numDraws: number;
  readonly shape: readonly number[];
  readonly uniforms: Float64Array;
  readonly actions: Float32Array<ArrayBuffer>;
  readonly logProbs: Float64Array;
  readonly #choices: CategoricalSampler;
  readonly #numbers: GaussianSampler;
  /** One action's real numbers. */
  readonly #moved: Float32Array;
  /** Per slot, its action flat and in the game's units. */
  readonly #views: readonly Float32Array[];

  constructor(space: MixedSpace, capacity: number) {
    const nvec = maskGroups(space);
    const size = numActionComponents(space);
    const limits = Array.from({ length: size - nvec.length }, (_, c) => leafLimits(space, nvec.length + c));
    const [low, high] = [0, 1].map((side) => limits.map((pair) => pair[side]));
    this.#choices = new CategoricalSampler(nvec, capacity, false);
    const box = { kind: "box" as const, dtype: "float32" as const, shape: [limits.length], low, high };
    this.#numbers = new GaussianSampler(box, capacity, 1);
    this.outputNames = [...this.#choices.outputNames, ...this.#numbers.outputNames];
    this.outputSizes = [actionMaskSize(space), ...this.#numbers.outputSizes];
    this.numComponents = size;
    this.numDraws = this.#choices.numDraws + this.#numbers.numDraws;
    this.shape = [size];
    this.uniforms = new Float64Array(capacity * this.numDraws);
    this.actions = new Float32Array(capacity * size);
    this.logProbs = new Float64Array(capacity);
    this.#moved = new Float32Array(limits.length);
    this.#views = Array.from({ length: capacity }, () => new Float32Array(size));
  }

  sample(outputs: readonly Float32Array[], row: number, masks: Uint8Array, slot: number): void {
    this.#deal(slot);
    this.#choices.sample(outputs, row, masks, slot);
    this.#numbers.sample(outputs, row, masks, slot);
    this.#gather(slot);
  }

  choose(outputs: readonly Float32Array[], row: number, masks: Uint8Array, slot: number): void {
    this.#choices.choose(outputs, row, masks, slot);
    this.#numbers.choose(outputs, row, masks, slot);
    this.#gather(slot);
  }

  sampleUniform(masks: Uint8Array, slot: number): void {
    this.#deal(slot);
    this.#choices.sampleUniform(masks, slot);
    this.#numbers.sampleUniform(masks, slot);
    this.#gather(slot);
  }

  give(actions: ArrayLike<number>, row: number, slot: number): void {
    const { numComponents: size } = this;
    const first = this.#choices.numComponents;
    for (let c = 0; c < size; c++) {
      this.actions[slot * size + c] = actions[row * size + c];
      if (c >= first) this.#moved[c - first] = actions[row * size + c];
    }
    this.#numbers.give(this.#moved, 0, slot);
    this.logProbs[slot] = 0;
  }

  rest(slot: number): void {
    this.actions.fill(0, slot * this.numComponents, (slot + 1) * this.numComponents);
    this.#numbers.rest(slot);
    this.logProbs[slot] = 0;
  }

  probabilities(
    outputs: readonly Float32Array[],
    row: number,
    masks: Uint8Array,
    slot: number,
  ): Float64Array {
    return this.#choices.probabilities(outputs, row, masks, slot);
  }

  /** Read from `actions` anew, in which a caller may have exchanged a choice. */
  gameAction(slot: number): Float32Array {
    const view = this.#views[slot];
    const first = this.#choices.numComponents;
    for (let c = 0; c < first; c++) view[c] = this.actions[slot * this.numComponents + c];
    view.set(this.#numbers.gameAction(slot), first);
    return view;
  }

  /** Gives each of the two its own uniforms. */
  #deal(slot: number): void {
    let from = slot * this.numDraws;
    for (const own of [this.#choices, this.#numbers]) {
      for (let draw = 0; draw < own.numDraws; draw++)
        own.uniforms[slot * own.numDraws + draw] = this.uniforms[from + draw];
      from += own.numDraws;
    }
  }

  #gather(slot: number): void {
    let at = slot * this.numComponents;
    let logProb = 0;
    for (const own of [this.#choices, this.#numbers]) {
      for (let c = 0; c < own.numComponents; c++, at++)
        this.actions[at] = own.actions[slot * own.numComponents + c];
      logProb += own.logProbs[slot];
    }
    this.logProbs[slot] = logProb;
  }
}
