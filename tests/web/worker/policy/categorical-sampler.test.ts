/** Draws of one choice or several, masked or not, against probabilities that can be read off. */

import { CategoricalSampler } from "@attract/worker/policy/categorical-sampler";
import { describe, expect, test } from "vitest";

/** Probabilities 0.1, 0.2, 0.3, 0.4 in row 1; row 0 would give others. */
const LOGITS = Float32Array.from([5, 0, 0, 0, ...[0.1, 0.2, 0.3, 0.4].map(Math.log)]);
const NO_MASK = new Uint8Array(0);

function one(n: number): CategoricalSampler {
  return new CategoricalSampler([n], 1, true);
}

function draw(sampler: CategoricalSampler, logits: Float32Array, row: number, uniform: number): number {
  sampler.uniforms[0] = uniform;
  sampler.sample([logits], row, NO_MASK, 0);
  return sampler.gameAction(0) as number;
}

describe("C5: sampling", () => {
  test("C5: takes the smallest action whose cumulative probability exceeds the uniform", () => {
    const sampler = one(4);
    const draws = [0, 0.0999, 0.1001, 0.2999, 0.3001, 0.5999, 0.6001, 1 - 2 ** -24];
    expect(draws.map((uniform) => draw(sampler, LOGITS, 1, uniform))).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  });

  test("C5: a uniform that lies exactly on a boundary belongs to the next action", () => {
    const sampler = one(2);
    const even = new Float32Array(2);
    expect(draw(sampler, even, 0, 0.5)).toBe(1);
    expect(draw(sampler, even, 0, 0.5 - 2 ** -24)).toBe(0);
  });

  test("C5: an impossible action is never taken, whatever the uniform", () => {
    const sampler = one(4);
    const logits = Float32Array.from([-Infinity, 0, 0, -Infinity]);
    expect(draw(sampler, logits, 0, 0)).toBe(1);
    expect(draw(sampler, logits, 0, 1 - 2 ** -53)).toBe(2);
  });

  test("the log-probability is computed in float64 and does not overflow", () => {
    const sampler = one(4);
    draw(sampler, LOGITS, 1, 0.5);
    // ln 0.3, from logits that float32 has rounded.
    expect(sampler.logProbs[0]).toBeCloseTo(-1.2039728, 6);
    draw(sampler, Float32Array.from([1000, 999, -1000, 0]), 0, 0);
    // -ln(1 + e^-1)
    expect(sampler.logProbs[0]).toBeCloseTo(-0.31326169, 8);
  });

  test("C5: a mask leaves the probabilities of what is allowed in their proportions", () => {
    const sampler = new CategoricalSampler([4], 2, true);
    const masks = Uint8Array.from([1, 1, 1, 1, 1, 0, 1, 0]);
    // Slot 1: 0.1 and 0.3 are left, so 0.25 and 0.75.
    for (const [uniform, action, p] of [
      [0, 0, 0.25],
      [0.249, 0, 0.25],
      [0.251, 2, 0.75],
      [1 - 2 ** -24, 2, 0.75],
    ]) {
      sampler.uniforms[1] = uniform;
      sampler.sample([LOGITS], 1, masks, 1);
      expect(sampler.actions[1]).toBe(action);
      expect(sampler.logProbs[1]).toBeCloseTo(Math.log(p), 6);
    }
  });

  test("C5: a mask holds also where the forbidden logit is by far the highest", () => {
    const sampler = one(3);
    const masks = Uint8Array.from([0, 1, 1]);
    const logits = Float32Array.from([1e30, -2, -2]);
    sampler.choose([logits], 0, masks, 0);
    expect([sampler.actions[0], sampler.logProbs[0]]).toEqual([1, -Math.LN2]);
    sampler.uniforms[0] = 0;
    sampler.sample([logits], 0, masks, 0);
    expect(sampler.actions[0]).toBe(1);
    sampler.uniforms[0] = 0.5;
    sampler.sampleUniform(masks, 0);
    expect([sampler.actions[0], sampler.logProbs[0]]).toEqual([2, -Math.LN2]);
  });
});

describe("several choices at once", () => {
  /** Components of 2 and 4 choices; probabilities 0.5 each, and 0.1 to 0.4. */
  const BOTH = Float32Array.from([0, 0, ...[0.1, 0.2, 0.3, 0.4].map(Math.log)]);

  test("C5: component c is drawn with uniform c; the joint log-probability is the sum", () => {
    const sampler = new CategoricalSampler([2, 4], 1, false);
    sampler.uniforms.set([0.6, 0.25]);
    sampler.sample([BOTH], 0, NO_MASK, 0);
    expect([...(sampler.gameAction(0) as Int32Array)]).toEqual([1, 1]);
    expect(sampler.logProbs[0]).toBeCloseTo(Math.log(0.5 * 0.2), 6);
    sampler.uniforms.set([0.4, 0.65]);
    sampler.sample([BOTH], 0, NO_MASK, 0);
    expect([...sampler.actions]).toEqual([0, 3]);
    expect(sampler.logProbs[0]).toBeCloseTo(Math.log(0.5 * 0.4), 6);
  });

  test("C5: the mask of each component is its own", () => {
    const sampler = new CategoricalSampler([2, 4], 1, false);
    sampler.uniforms.set([0, 0]);
    sampler.sample([BOTH], 0, Uint8Array.from([0, 1, 0, 0, 1, 1]), 0);
    expect([...sampler.actions]).toEqual([1, 2]);
    expect(sampler.logProbs[0]).toBeCloseTo(Math.log(0.3 / 0.7), 6);
  });
});

test("the most probable action is the smallest of equals, with its log-probability", () => {
  const sampler = one(4);
  sampler.choose([LOGITS], 1, NO_MASK, 0);
  expect(sampler.gameAction(0)).toBe(3);
  expect(sampler.logProbs[0]).toBeCloseTo(-0.9162907, 6);
  sampler.choose([Float32Array.from([1, 2, 2, 0])], 0, NO_MASK, 0);
  expect(sampler.gameAction(0)).toBe(1);
});

test("a logit that is no number shows in the log-probability", () => {
  const sampler = one(3);
  for (const logits of [
    [Number.NaN, 0, 0],
    [0, Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 0, 0],
  ]) {
    draw(sampler, Float32Array.from(logits), 0, 0.5);
    expect(sampler.logProbs[0]).toBeNaN();
  }
});

test("a row's probabilities are those that choices are drawn with, per component and after masks", () => {
  const sampler = new CategoricalSampler([2, 4], 2, false);
  const rows = Float32Array.from([
    ...new Array(6).fill(7),
    Math.log(3),
    0,
    ...[0.1, 0.2, 0.3, 0.4].map(Math.log),
  ]);
  const probabilities = (masks: Uint8Array) => [...sampler.probabilities([rows], 1, masks, 1)];
  const expected = [0.75, 0.25, 0.1, 0.2, 0.3, 0.4];
  for (const [i, value] of probabilities(NO_MASK).entries()) expect(value).toBeCloseTo(expected[i], 6);
  const masked = [1, 0, 0, 0.4, 0.6, 0];
  const masks = Uint8Array.from([1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0]);
  for (const [i, value] of probabilities(masks).entries()) expect(value).toBeCloseTo(masked[i], 6);
});
