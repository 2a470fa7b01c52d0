/** Parameters drawn at each start, from their own stream. */

import { expect, test } from "vitest";
import { ParameterSampler } from "../../../web/sdk/src/parameters.ts";
import golden from "../../contract/golden/philox.json";

test("C5: draws come from stream `parameters` of (seed, episode, instance), in the order of the names", () => {
  const { seed, episode, instance, uniforms } = golden.sequential.find(
    ({ stream }) => stream === "parameters",
  )!;
  const sampler = new ParameterSampler({
    b: { kind: "uniform", values: [10, 30] },
    a: { kind: "uniform", values: [-1, 1] },
    c: { kind: "constant", values: [7] },
  });
  for (let repeat = 0; repeat < 2; repeat++) {
    expect(sampler.sample(seed.low, seed.high, episode, instance)).toEqual({
      a: -1 + 2 * uniforms[0],
      b: 10 + 20 * uniforms[1],
      c: 7,
    });
  }
});

test("nothing to draw is undefined", () => {
  expect(new ParameterSampler({}).sample(1, 2, 3, 4)).toBeUndefined();
});

test("normal draws are clipped to their limits", () => {
  const sampler = new ParameterSampler({ a: { kind: "normal", values: [5, 2, 4, 8] } });
  const values = Array.from({ length: 2000 }, (_, episode) => sampler.sample(1, 0, episode, 0)!.a);
  expect(Math.min(...values)).toBe(4);
  expect(Math.max(...values)).toBe(8);
  // Below 4 lies half a deviation: 30.9 % of the draws; deviation of the count 21.
  expect(Math.abs(values.filter((value) => value === 4).length - 617)).toBeLessThan(100);
});

test("of several ranges each is as likely as it is wide", () => {
  const sampler = new ParameterSampler({ a: { kind: "multi_range", values: [0, 1, 10, 13] } });
  const values = Array.from({ length: 4000 }, (_, episode) => sampler.sample(1, 0, episode, 0)!.a);
  expect(values.every((value) => (value >= 0 && value < 1) || (value >= 10 && value < 13))).toBe(true);
  // A quarter of the width: 1000 expected, deviation 27.
  expect(Math.abs(values.filter((value) => value < 1).length - 1000)).toBeLessThan(140);
});
