import { DiscreteSampler } from "@attract/worker/sampler";
import { describe, expect, test } from "vitest";

/** Probabilities 0.1, 0.2, 0.3, 0.4 in row 1; row 0 would give others. */
const LOGITS = Float32Array.from([5, 0, 0, 0, ...[0.1, 0.2, 0.3, 0.4].map(Math.log)]);

describe("C5: sampling", () => {
  test("C5: takes the smallest action whose cumulative probability exceeds the uniform", () => {
    const sampler = new DiscreteSampler(4);
    const draws = [0, 0.0999, 0.1001, 0.2999, 0.3001, 0.5999, 0.6001, 1 - 2 ** -24];
    expect(draws.map((uniform) => sampler.sample(LOGITS, 1, uniform))).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  });

  test("C5: a uniform that lies exactly on a boundary belongs to the next action", () => {
    const sampler = new DiscreteSampler(2);
    const even = new Float32Array(2);
    expect(sampler.sample(even, 0, 0.5)).toBe(1);
    expect(sampler.sample(even, 0, 0.5 - 2 ** -24)).toBe(0);
  });

  test("C5: an impossible action is never taken, whatever the uniform", () => {
    const sampler = new DiscreteSampler(4);
    const logits = Float32Array.from([-Infinity, 0, 0, -Infinity]);
    expect(sampler.sample(logits, 0, 0)).toBe(1);
    expect(sampler.sample(logits, 0, 1 - 2 ** -53)).toBe(2);
  });

  test("the log-probability is computed in float64 and does not overflow", () => {
    const sampler = new DiscreteSampler(4);
    sampler.sample(LOGITS, 1, 0.5);
    // ln 0.3, from logits that float32 has rounded.
    expect(sampler.logProb).toBeCloseTo(-1.2039728, 6);
    sampler.sample(Float32Array.from([1000, 999, -1000, 0]), 0, 0);
    // -ln(1 + e^-1)
    expect(sampler.logProb).toBeCloseTo(-0.31326169, 8);
  });
});

test("argmax takes the smallest of equals and gives its log-probability", () => {
  const sampler = new DiscreteSampler(4);
  expect(sampler.argmax(LOGITS, 1)).toBe(3);
  expect(sampler.logProb).toBeCloseTo(-0.9162907, 6);
  expect(sampler.argmax(Float32Array.from([1, 2, 2, 0]), 0)).toBe(1);
});
