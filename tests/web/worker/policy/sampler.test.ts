/** Which sampler an action space gets, and what all of them share. */

import { createSampler } from "@attract/worker/policy/sampler";
import { type ActionSpace, box, discrete, multiBinary, multiDiscrete } from "attract/spaces";
import { expect, test } from "vitest";

const NO_MASK = new Uint8Array(0);
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
