/** Game parameters as a lease gives them: one distribution each, drawn at every start from stream `parameters` (rule C5). */

import { createSequentialRandom, type SequentialRandom, STREAM } from "./random.ts";

/**
 * How one parameter is drawn. `values` by kind: constant [value]; uniform [low, high]; normal [mean, deviation, low,
 * high], clipped; multi_range [low, high, low, high, ...], each range as likely as it is wide.
 */
export interface ParameterDistribution {
  kind: "constant" | "uniform" | "normal" | "multi_range";
  values: readonly number[];
}

/** Draws the parameters of one episode after another; owned by one rollout loop. */
export class ParameterSampler {
  readonly #stream: SequentialRandom = createSequentialRandom(STREAM.parameters);
  readonly #names: readonly string[];
  readonly #distributions: Readonly<Record<string, ParameterDistribution>>;
  readonly #values: Record<string, number> = {};

  /** Names are drawn in sorted order, so that the order of a message's keys changes nothing. */
  constructor(distributions: Readonly<Record<string, ParameterDistribution>>) {
    this.#distributions = distributions;
    this.#names = Object.keys(distributions).sort();
  }

  /** The parameters of (seed, episode, instance); the same object every time, undefined when nothing is drawn. */
  sample(
    seedLow: number,
    seedHigh: number,
    episode: number,
    instanceId: number,
  ): Readonly<Record<string, number>> | undefined {
    if (this.#names.length === 0) return undefined;
    this.#stream.reset(seedLow, seedHigh, episode, instanceId);
    for (const name of this.#names) this.#values[name] = this.#draw(this.#distributions[name]);
    return this.#values;
  }

  #draw({ kind, values }: ParameterDistribution): number {
    const { random } = this.#stream;
    switch (kind) {
      case "constant":
        return values[0];
      case "uniform":
        return values[0] + (values[1] - values[0]) * random();
      case "normal":
        return Math.max(values[2], Math.min(values[3], values[0] + values[1] * random.normal()));
      case "multi_range": {
        let total = 0;
        for (let i = 0; i < values.length; i += 2) total += values[i + 1] - values[i];
        let rest = random() * total;
        let i = 0;
        while (i < values.length - 2 && rest >= values[i + 1] - values[i]) {
          rest -= values[i + 1] - values[i];
          i += 2;
        }
        return values[i] + rest;
      }
    }
  }
}
