/** What one episode adds up to: metrics reduced from `info`, and the sums of reward terms. */

import { MAX_AMOUNT } from "./bounds.gen.ts";
import type { GameDefinition, MetricReduction } from "./contract.ts";
import { GameError, show } from "./errors.ts";
import { amountError } from "./results.ts";

/** Owned by one game instance; allocates nothing per step. Names are in the order of the definition. */
export class EpisodeTotals {
  readonly metricNames: readonly string[];
  /** Reduced so far; NaN for a metric the game has not reported in this episode. */
  readonly metricValues: Float64Array;
  readonly termNames: readonly string[];
  /** Unweighted sums over ticks and agents. */
  readonly termSums: Float64Array;
  readonly #reductions: readonly MetricReduction[];
  readonly #counts: Float64Array;
  readonly #weights: Float64Array;

  constructor(definition: GameDefinition) {
    this.metricNames = Object.keys(definition.metrics ?? {});
    this.#reductions = this.metricNames.map((name) => definition.metrics![name]);
    this.metricValues = new Float64Array(this.metricNames.length);
    this.#counts = new Float64Array(this.metricNames.length);
    this.termNames = Object.keys(definition.rewardTerms ?? {});
    this.termSums = new Float64Array(this.termNames.length);
    this.#weights = Float64Array.from(this.termNames, (name) => definition.rewardTerms![name]);
  }

  reset(): void {
    this.metricValues.fill(Number.NaN);
    this.#counts.fill(0);
    this.termSums.fill(0);
  }

  /** Takes in one tick's `info`; names that are no metrics are the game's own business. Raises GameError. */
  addInfo(info: Readonly<Record<string, number>>): void {
    for (let i = 0; i < this.metricNames.length; i++) {
      const value = info[this.metricNames[i]];
      if (value === undefined) continue;
      if (!Number.isFinite(value)) throw notFinite(`info.${this.metricNames[i]}`, value);
      const count = this.#counts[i];
      const held = this.metricValues[i];
      const reduced = count === 0 ? value : reduce(this.#reductions[i], held, value, count);
      if (!(Math.abs(reduced) <= MAX_AMOUNT))
        throw amountError(`info.${this.metricNames[i]}`, value, `metric (${this.#reductions[i]})`, reduced);
      this.metricValues[i] = reduced;
      this.#counts[i] = count + 1;
    }
  }

  /** Adds one tick's terms of one agent and returns their weighted sum; a term left out counts 0. Raises GameError. */
  addTerms(terms: Readonly<Record<string, number>>): number {
    let reward = 0;
    for (let i = 0; i < this.termNames.length; i++) {
      const amount = terms[this.termNames[i]];
      if (amount === undefined) continue;
      if (!Number.isFinite(amount)) throw notFinite(`rewardTerms.${this.termNames[i]}`, amount);
      const sum = this.termSums[i] + amount;
      if (!(Math.abs(sum) <= MAX_AMOUNT))
        throw amountError(`rewardTerms.${this.termNames[i]}`, amount, "sum", sum);
      this.termSums[i] = sum;
      reward += this.#weights[i] * amount;
    }
    return reward;
  }
}

function reduce(reduction: MetricReduction, held: number, value: number, count: number): number {
  switch (reduction) {
    case "last":
      return value;
    case "sum":
      return held + value;
    case "max":
      return Math.max(held, value);
    case "mean":
      return held + (value - held) / (count + 1);
  }
}

function notFinite(field: string, value: unknown): GameError {
  const kind = typeof value === "number" ? "nan" : "shape";
  return new GameError(
    kind,
    "update",
    field,
    `update() returned ${field} = ${show(value)}, expected a finite number`,
  );
}
