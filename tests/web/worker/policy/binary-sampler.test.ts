/** Draws of switches, against probabilities that can be read off. */

import { BinarySampler } from "@attract/worker/policy/binary-sampler";
import { expect, test } from "vitest";

const NO_MASK = new Uint8Array(0);
/** On with probability 0.75, 0.5 and 0.2. */
const LOGITS = Float32Array.from([Math.log(3), 0, Math.log(0.25)]);

test("C5: a switch is on when its uniform is below its probability", () => {
  const sampler = new BinarySampler(3, 1);
  sampler.uniforms.set([0.749, 0.5, 0.201]);
  sampler.sample([LOGITS], 0, NO_MASK, 0);
  expect([...sampler.gameAction(0)]).toEqual([1, 0, 0]);
  expect(sampler.logProbs[0]).toBeCloseTo(Math.log(0.75 * 0.5 * 0.8), 6);
  sampler.uniforms.set([0.751, 0.499, 0.199]);
  sampler.sample([LOGITS], 0, NO_MASK, 0);
  expect([...sampler.actions]).toEqual([0, 1, 1]);
  expect(sampler.logProbs[0]).toBeCloseTo(Math.log(0.25 * 0.5 * 0.2), 6);
});

test("the most probable is on above an even chance; logits of any size have finite logarithms", () => {
  const sampler = new BinarySampler(3, 1);
  sampler.choose([LOGITS], 0, NO_MASK, 0);
  expect([...sampler.actions]).toEqual([1, 0, 0]);
  sampler.choose([Float32Array.from([800, -800, 800])], 0, NO_MASK, 0);
  expect([...sampler.actions]).toEqual([1, 0, 1]);
  expect(sampler.logProbs[0]).toBeCloseTo(0, 12);
  sampler.uniforms.set([0.5, 0.5, 0.5]);
  sampler.sampleUniform(NO_MASK, 0);
  expect(sampler.logProbs[0]).toBeCloseTo(-3 * Math.LN2, 12);
});

test("a row's probabilities are those that switches are drawn with", () => {
  const sampler = new BinarySampler(3, 1);
  const rows = Float32Array.from([9, 9, 9, ...LOGITS]);
  const probabilities = [...sampler.probabilities([rows], 1)];
  [0.75, 0.5, 0.2].forEach((expected, i) => {
    expect(probabilities[i]).toBeCloseTo(expected, 6);
  });
});
