import type { ParameterDistribution } from "@attract/schema";
import { ParameterSampler } from "@attract/worker/parameters";
import { createSequentialRandom, STREAM } from "attract/random";
import { describe, expect, test } from "vitest";

function draws(distribution: ParameterDistribution, count = 4000): number[] {
  const sampler = new ParameterSampler();
  return Array.from(
    { length: count },
    (_, episode) => sampler.draw({ size: distribution }, 1, 2, episode, 3)!.size,
  );
}

describe("C5: parameters", () => {
  test("C5: come from the stream `parameters` of (seed, instance, episode), in the order of their names", () => {
    const sampler = new ParameterSampler();
    const uniform = { kind: "uniform" as const, values: [0, 1] };
    const drawn = { ...sampler.draw({ b: uniform, a: uniform }, 5, 6, 7, 8) };
    const { random, reset } = createSequentialRandom(STREAM.parameters);
    reset(5, 6, 7, 8);
    const first = random();
    const second = random();
    expect(drawn).toEqual({ a: first, b: second });
    expect(sampler.draw({ b: uniform, a: uniform }, 5, 6, 8, 8)).not.toEqual(drawn);
  });

  test("there are none without distributions, and none left of the ones before", () => {
    const sampler = new ParameterSampler();
    expect(sampler.draw({}, 0, 0, 0, 0)).toBeUndefined();
    sampler.draw({ old: { kind: "constant", values: [1] } }, 0, 0, 0, 0);
    expect(sampler.draw({ size: { kind: "constant", values: [7] } }, 0, 0, 0, 0)).toEqual({ size: 7 });
  });

  test("uniform, normal and several ranges keep to their limits and spread as they should", () => {
    const uniform = draws({ kind: "uniform", values: [2, 6] });
    expect([Math.min(...uniform) >= 2, Math.max(...uniform) < 6]).toEqual([true, true]);
    // Mean 4, standard error 4 / sqrt(12 * 4000) = 0.018.
    expect(mean(uniform)).toBeCloseTo(4, 0);
    const normal = draws({ kind: "normal", values: [10, 2, 7, 13] });
    expect([Math.min(...normal), Math.max(...normal)]).toEqual([7, 13]);
    expect(Math.abs(mean(normal) - 10)).toBeLessThan(0.15);
    // Lengths 1 and 3: a quarter in the first.
    const ranges = draws({ kind: "multi_range", values: [0, 1, 10, 13] });
    expect(ranges.every((value) => (value >= 0 && value <= 1) || (value >= 10 && value <= 13))).toBe(true);
    expect(Math.abs(ranges.filter((value) => value <= 1).length / ranges.length - 0.25)).toBeLessThan(0.03);
  });
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
