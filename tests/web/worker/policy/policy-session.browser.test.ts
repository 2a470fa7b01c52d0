/** ONNX Runtime in a real Chromium, against what torch says of the same network. */

import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createPolicySession } from "@attract/worker/policy/policy-session";
import { createSampler } from "@attract/worker/policy/sampler";
import { describe, expect, test } from "vitest";
import golden from "../../../contract/golden/policy.json";
import { bytesOf, CARTPOLE_LIKE, GOLDEN_POLICIES, goldenOnnx } from "../support/golden-policy.ts";

const ROWS = golden.observations.length;

function fill(batch: ObservationBatch): void {
  batch.arrays[0].set(golden.observations.flat());
}

describe("C9", () => {
  test("C9: logits and values equal torch's within 1e-5 max(1, |x|), at every batch size", async () => {
    const session = await createPolicySession(goldenOnnx(), CARTPOLE_LIKE, { maxBatch: ROWS });
    const expected = golden.logits.flat();
    for (const rows of [1, 2, 16, ROWS]) {
      const batch = new ObservationBatch(CARTPOLE_LIKE.observation as never, ROWS);
      fill(batch);
      await session.run(batch, rows);
      const [logits] = session.outputs;
      expect(logits.length).toBe(2 * rows);
      for (let i = 0; i < 2 * rows; i++) expectClose(logits[i], expected[i]);
      for (let i = 0; i < rows; i++) expectClose(session.values[i], golden.value[i]);
    }
    await session.release();
  });

  test("C9: log-probabilities of equal logits agree within 1e-6 relative", () => {
    const sampler = createSampler(CARTPOLE_LIKE.action as never, 1);
    const logits = Float32Array.from(golden.logits.flat());
    for (let row = 0; row < ROWS; row++) {
      // A uniform of 0 takes the first action with any probability, one just below 1 the last.
      for (const uniform of [0, 1 - 2 ** -24]) {
        sampler.uniforms[0] = uniform;
        sampler.sample([logits], row, new Uint8Array(0), 0);
        const expected = golden.log_probs[row][sampler.actions[0]];
        expect(Math.abs(sampler.logProbs[0] - expected)).toBeLessThanOrEqual(
          1e-6 * Math.abs(expected) + 1e-15,
        );
      }
    }
  });

  const models = Object.entries(GOLDEN_POLICIES).flatMap(([name, policy]) => [
    { name, policy, onnx: policy.onnx },
    // As a run that is over is watched.
    { name: `${name}, exported`, policy, onnx: policy.export.onnx },
  ]);
  for (const { name, policy, onnx } of models) {
    test(`C9: ${name}: outputs, states, actions and log-probabilities are torch's`, async () => {
      const { description, state_size: stateSize, inputs, outputs } = policy;
      const rows = outputs.value.shape[0];
      const session = await createPolicySession(bytesOf(onnx), description, {
        maxBatch: rows,
        stateSize,
      });
      const batch = new ObservationBatch(description.observation as never, rows, {
        maskSize: (policy.action_mask?.data.length ?? 0) / rows,
        stateSize,
      });
      for (const [e, array] of batch.arrays.entries()) {
        array.set(inputs[batch.arrays.length === 1 ? "obs" : `obs_${e}`].data);
      }
      if (stateSize > 0) batch.states.set(inputs.state_ins.data);
      batch.masks.set(policy.action_mask?.data ?? []);
      await session.run(batch, rows);
      const sampler = createSampler(description.action as never, rows);
      for (const [i, output] of sampler.outputNames.entries()) {
        expectAllClose(session.outputs[i], outputs[output].data);
      }
      expectAllClose(session.values, outputs.value.data);
      expectAllClose(session.states, outputs.state_outs?.data ?? []);
      const { masks } = batch;
      sampler.uniforms.set(policy.uniforms.data);
      for (let row = 0; row < rows; row++) sampler.sample(session.outputs, row, masks, row);
      expectAllClose(sampler.actions, policy.actions.data);
      expectAllClose(sampler.logProbs, policy.log_probs.data);
      for (let row = 0; row < rows; row++) sampler.choose(session.outputs, row, masks, row);
      expectAllClose(sampler.actions, policy.modes.data);
      await session.release();
    });
  }

  function expectAllClose(got: ArrayLike<number>, expected: readonly number[]): void {
    expect(got.length).toBe(expected.length);
    for (let i = 0; i < expected.length; i++) expectClose(got[i], expected[i]);
  }

  function expectClose(got: number, expected: number): void {
    expect(Math.abs(got - expected) / Math.max(1, Math.abs(expected))).toBeLessThan(1e-5);
  }
});

test("the bytes of a model may be a view at any offset of a frame", async () => {
  const onnx = goldenOnnx();
  const frame = new Uint8Array(onnx.length + 7);
  frame.set(onnx, 3);
  const session = await createPolicySession(frame.subarray(3, 3 + onnx.length), CARTPOLE_LIKE, {
    maxBatch: 2,
  });
  expect(session.values.length).toBe(2);
  await session.release();
});

test("what is no model, or one of other sizes, is refused", async () => {
  await expect(
    createPolicySession(new Uint8Array([1, 2, 3]), CARTPOLE_LIKE, { maxBatch: 1 }),
  ).rejects.toThrow();
  const three = { ...CARTPOLE_LIKE, action: { kind: "discrete" as const, n: 3, labels: null } };
  await expect(createPolicySession(goldenOnnx(), three, { maxBatch: 4 })).rejects.toThrow(
    /for 4 rows expected 12 logits, 4 value, 0 state_outs; got 8 logits/,
  );
  await expect(
    createPolicySession(goldenOnnx(), CARTPOLE_LIKE, { maxBatch: 4, stateSize: 16 }),
  ).rejects.toThrow(/expected a model with a state of 16, got 0/);
  const box = { kind: "box" as const, dtype: "float32" as const, shape: [2], low: -1, high: 1 };
  await expect(
    createPolicySession(goldenOnnx(), { ...CARTPOLE_LIKE, action: box }, { maxBatch: 4 }),
  ).rejects.toThrow(/no output mean/);
});
