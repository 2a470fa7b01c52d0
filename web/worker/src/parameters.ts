/** Game parameters drawn at each start from stream `parameters` (rule C5). */

import type { Lease, ParameterDistribution } from "@attract/schema";
import { createSequentialRandom, type GameRandom, STREAM } from "attract/random";

/** Owned by one rollout loop. The object handed out is reused. */
export class ParameterSampler {
  readonly #sequential = createSequentialRandom(STREAM.parameters);
  readonly #values: Record<string, number> = {};

  /** One number per parameter of `distributions`, drawn in the order of their sorted names; undefined for none. */
  draw(
    distributions: Lease["parameters"],
    seedLow: number,
    seedHigh: number,
    episode: number,
    instanceId: number,
  ): Readonly<Record<string, number>> | undefined {
    const names = Object.keys(distributions).sort();
    if (names.length === 0) return undefined;
    this.#sequential.reset(seedLow, seedHigh, episode, instanceId);
    for (const name of Object.keys(this.#values)) delete this.#values[name];
    for (const name of names) this.#values[name] = drawOne(distributions[name], this.#sequential.random);
    return this.#values;
  }
}

function drawOne(distribution: ParameterDistribution, random: GameRandom): number {
  const { kind, values } = distribution;
  switch (kind) {
    case "constant":
      return values[0];
    case "uniform":
      return values[0] + (values[1] - values[0]) * random();
    case "normal":
      return Math.min(values[3], Math.max(values[2], values[0] + values[1] * random.normal()));
    case "multi_range":
      return fromRanges(values, random());
  }
}

/** Uniform over the union of [values[0], values[1]], [values[2], values[3]], ...: a range's chance is its length. */
function fromRanges(values: readonly number[], uniform: number): number {
  let total = 0;
  for (let i = 0; i + 1 < values.length; i += 2) total += values[i + 1] - values[i];
  let position = uniform * total;
  for (let i = 0; i + 1 < values.length; i += 2) {
    const length = values[i + 1] - values[i];
    if (position < length) return values[i] + position;
    position -= length;
  }
  return values[values.length - 1];
}
