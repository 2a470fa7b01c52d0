/** Draws of choices, switches and numbers, masked or not, against probabilities that can be read off; what a game gets of them. */

import { BinarySampler } from "@attract/worker/policy/binary-sampler";
import { CategoricalSampler } from "@attract/worker/policy/categorical-sampler";
import { GaussianSampler } from "@attract/worker/policy/gaussian-sampler";
import { createSampler } from "@attract/worker/policy/sampler";
import { UnitBox } from "@attract/worker/policy/unit-box";
import { type ActionSpace, box, discrete, multiBinary, multiDiscrete } from "attract/spaces";
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

test("the most probable choice is the smallest of equals, with its log-probability", () => {
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

/** On with probability 0.75, 0.5 and 0.2. */
const SWITCHES = Float32Array.from([Math.log(3), 0, Math.log(0.25)]);

test("C5: a switch is on when its uniform is below its probability", () => {
  const sampler = new BinarySampler(3, 1);
  sampler.uniforms.set([0.749, 0.5, 0.201]);
  sampler.sample([SWITCHES], 0, NO_MASK, 0);
  expect([...sampler.gameAction(0)]).toEqual([1, 0, 0]);
  expect(sampler.logProbs[0]).toBeCloseTo(Math.log(0.75 * 0.5 * 0.8), 6);
  sampler.uniforms.set([0.751, 0.499, 0.199]);
  sampler.sample([SWITCHES], 0, NO_MASK, 0);
  expect([...sampler.actions]).toEqual([0, 1, 1]);
  expect(sampler.logProbs[0]).toBeCloseTo(Math.log(0.25 * 0.5 * 0.2), 6);
});

test("the most probable of a switch is on above an even chance; logits of any size have finite logarithms", () => {
  const sampler = new BinarySampler(3, 1);
  sampler.choose([SWITCHES], 0, NO_MASK, 0);
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
  const rows = Float32Array.from([9, 9, 9, ...SWITCHES]);
  const probabilities = [...sampler.probabilities([rows], 1)];
  [0.75, 0.5, 0.2].forEach((expected, i) => {
    expect(probabilities[i]).toBeCloseTo(expected, 6);
  });
});

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

const CASES: [ActionSpace, { names: string[]; size: number; draws: number; shape: number[] }][] = [
  [discrete(5), { names: ["logits"], size: 5, draws: 1, shape: [] }],
  [multiDiscrete([2, 3]), { names: ["logits"], size: 5, draws: 2, shape: [2] }],
  [multiBinary(4), { names: ["logits"], size: 4, draws: 4, shape: [4] }],
  [box({ shape: [3], low: -1, high: 1 }), { names: ["mean", "log_std"], size: 3, draws: 6, shape: [3] }],
];

for (const [space, expected] of CASES) {
  test(`${space.kind}: outputs of the graph, draws and shape of an action`, () => {
    const sampler = createSampler(space, 2);
    const { outputNames: names, outputSizes: sizes, numDraws: draws, shape } = sampler;
    expect({ names, size: sizes[0], draws, shape }).toEqual(expected);
    expect(sampler.uniforms).toHaveLength(2 * draws);
    expect(sampler.actions).toHaveLength(2 * sampler.numComponents);
  });

  test(`E9: ${space.kind}: a slot at rest has zeros, and no part in any probability`, () => {
    const sampler = createSampler(space, 2);
    const outputs = expected.names.map(() => new Float32Array(2 * expected.size).fill(0.3));
    sampler.uniforms.fill(0.9);
    for (const slot of [0, 1]) sampler.sample(outputs, slot, NO_MASK, slot);
    const other = [...sampler.actions.slice(0, sampler.numComponents)];
    sampler.rest(1);
    expect([...sampler.actions]).toEqual([...other, ...other.map(() => 0)]);
    expect(sampler.logProbs[1]).toBe(0);
    expect(sampler.logProbs[0]).not.toBe(0);
    const shown = sampler.gameAction(1);
    expect(typeof shown === "number" ? [shown] : [...(shown as number[])]).toEqual(other.map(() => 0));
  });

  test(`${space.kind}: the row of the outputs and the slot of the action are independent`, () => {
    const straight = createSampler(space, 4);
    const crossed = createSampler(space, 4);
    const outputs = expected.names.map((_, i) =>
      Float32Array.from({ length: 4 * expected.size }, (_, j) => Math.sin(3 * i + j)),
    );
    for (const sampler of [straight, crossed]) sampler.uniforms.fill(0.37);
    for (let row = 0; row < 4; row++) {
      straight.sample(outputs, row, NO_MASK, row);
      crossed.sample(outputs, row, NO_MASK, 3 - row);
    }
    expect([...crossed.logProbs].reverse()).toEqual([...straight.logProbs]);
  });
}

test("P6: [-1, 1] becomes [low, high] per component; what lies outside is clipped, and the action stays as it is", () => {
  const unit = new UnitBox(box({ shape: [2], low: [-2, 0], high: [2, 10] }), 2);
  const actions = Float32Array.of(9, 9, 0.5, -0.5, -1.5, 1.5);
  const scaled = new Float32Array(6);
  unit.scale(actions, scaled, 1);
  // A quarter from the top of [-2, 2], a quarter from the bottom of [0, 10]; rows 0 and 2 are not touched.
  expect([...scaled]).toEqual([0, 0, 1, 2.5, 0, 0]);
  unit.scale(actions, scaled, 2);
  expect([...scaled]).toEqual([0, 0, 1, 2.5, -2, 10]);
  expect([...actions]).toEqual([9, 9, 0.5, -0.5, -1.5, 1.5]);
});

test("an unlimited box is given [-1, 1] itself", () => {
  const scaled = new Float32Array(1);
  new UnitBox(box({ shape: [1] }), 1).scale(Float32Array.of(-0.25), scaled, 0);
  expect(scaled[0]).toBe(-0.25);
});
