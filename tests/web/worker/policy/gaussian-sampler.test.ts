/** Continuous actions: what is drawn, what is told of it, and what the game gets. */

import { GaussianSampler } from "@attract/worker/policy/gaussian-sampler";
import { box } from "attract/spaces";
import { describe, expect, test } from "vitest";

const NO_MASK = new Uint8Array(0);
/** [-2, 2] and [0, 10]. */
const SPACE = box({ shape: [2], low: [-2, 0], high: [2, 10] });
/** Row 1: means 0.5 and -1, deviations 1 and 0.5. */
const MEAN = Float32Array.from([9, 9, 0.5, -1]);
const LOG_STD = Float32Array.from([3, 3, 0, Math.log(0.5)]);

describe("P6: a box action", () => {
  test("C5: component c is drawn by Box-Muller from the uniforms 2c and 2c + 1", () => {
    const sampler = new GaussianSampler(SPACE, 1);
    // radius = sqrt(-2 ln e^-2) = 2 with cos 0 = 1; and sqrt(-2 ln e^-0.5) = 1 with cos pi = -1.
    sampler.uniforms.set([1 - Math.exp(-2), 0, 1 - Math.exp(-0.5), 0.5]);
    sampler.sample([MEAN, LOG_STD], 1, NO_MASK, 0);
    expect(sampler.actions[0]).toBeCloseTo(2.5, 6);
    expect(sampler.actions[1]).toBeCloseTo(-1.5, 6);
  });

  test("P6: the log-probability is that of the unclipped sample; only what the game gets is clipped and scaled", () => {
    const sampler = new GaussianSampler(SPACE, 1);
    sampler.uniforms.set([1 - Math.exp(-2), 0, 1 - Math.exp(-0.5), 0.5]);
    sampler.sample([MEAN, LOG_STD], 1, NO_MASK, 0);
    // z = 2 and -1: -2 - 0.5 ln 2 pi, and -0.5 + ln 2 - 0.5 ln 2 pi.
    expect(sampler.logProbs[0]).toBeCloseTo(-2.5 + Math.LN2 - Math.log(2 * Math.PI), 6);
    // 2.5 and -1.5 lie outside: the ends of the game's ranges.
    expect([...sampler.gameAction(0)]).toEqual([2, 0]);
    sampler.choose([Float32Array.from([0.5, -0.5]), LOG_STD.subarray(2)], 0, NO_MASK, 0);
    // A quarter from the top of [-2, 2], a quarter from the bottom of [0, 10].
    expect([...sampler.gameAction(0)]).toEqual([1, 2.5]);
  });

  test("P6: the log-probability is that of the float32 number which travels", () => {
    const sampler = new GaussianSampler(box({ shape: [1], low: -1, high: 1 }), 1);
    const logStd = Float32Array.of(-12);
    sampler.uniforms.set([0.4, 0.15]);
    sampler.sample([Float32Array.of(0.3), logStd], 0, NO_MASK, 0);
    const z = (sampler.actions[0] - Math.fround(0.3)) / Math.exp(-12);
    expect(sampler.logProbs[0]).toBe(-0.5 * z * z + 12 - 0.5 * Math.log(2 * Math.PI));
    // The exact draw has another density: float32 has few numbers this close together.
    const exact = Math.sqrt(-2 * Math.log(1 - 0.4)) * Math.cos(2 * Math.PI * 0.15);
    expect(Math.abs(z - exact)).toBeGreaterThan(1e-4);
  });

  test("the most probable action is the mean; random play is uniform over the box, with its density", () => {
    const sampler = new GaussianSampler(SPACE, 1);
    sampler.choose([MEAN, LOG_STD], 1, NO_MASK, 0);
    expect([...sampler.actions]).toEqual([0.5, -1]);
    sampler.uniforms.set([0.25, 0.9, 0.75, 0.9]);
    sampler.sampleUniform(NO_MASK, 0);
    expect([...sampler.actions]).toEqual([-0.5, 0.5]);
    expect([...sampler.gameAction(0)]).toEqual([-1, 7.5]);
    expect(sampler.logProbs[0]).toBeCloseTo(Math.log(1 / 4), 12);
  });

  test("a deviation or a mean that is no number shows in the log-probability", () => {
    const sampler = new GaussianSampler(SPACE, 1);
    sampler.uniforms.fill(0.5);
    sampler.sample([Float32Array.of(0, Number.NaN), Float32Array.of(0, 0)], 0, NO_MASK, 0);
    expect(sampler.logProbs[0]).toBeNaN();
    sampler.sample([Float32Array.of(0, 0), Float32Array.of(0, Number.POSITIVE_INFINITY)], 0, NO_MASK, 0);
    expect(Number.isFinite(sampler.logProbs[0])).toBe(false);
  });
});
