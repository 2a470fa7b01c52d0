/** The small player in a worker, against what torch says of the same network, and what it leaves to ONNX Runtime. */

import { readOnnx } from "@attract/play/onnx-file";
import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createPlayerSession, MAX_WORK, type PlayerSession } from "@attract/worker/policy/player-session";
import { createSampler } from "@attract/worker/policy/sampler";
import { describe, expect, test } from "vitest";
import { bytesOf, CARTPOLE_LIKE, GOLDEN_POLICIES, goldenOnnx } from "../support/golden-policy.ts";

/** `learner/verification.py`: a difference of the log-probability that is taken for rounding from the first check on. */
const AUDIT_TOLERANCE = 1e-4;
const ROUNDING = 1e-5;

function expectAllClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = ROUNDING): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    const limit = tolerance * Math.max(1, Math.abs(expected[i]));
    expect(Math.abs(actual[i] - expected[i])).toBeLessThanOrEqual(limit);
  }
}

describe("C9", () => {
  const models = Object.entries(GOLDEN_POLICIES).flatMap(([name, policy]) => [
    { name, policy, onnx: policy.onnx },
    { name: `${name}, exported`, policy, onnx: policy.export.onnx },
  ]);
  for (const { name, policy, onnx } of models) {
    test(`C9: ${name}: the small player's outputs, states, actions and log-probabilities are torch's`, () => {
      const { description, state_size: stateSize, inputs, outputs } = policy;
      const rows = outputs.value.shape[0];
      const options = { maxBatch: rows, stateSize, policyId: "p", policyVersion: 7 };
      const session = createPlayerSession(
        bytesOf(onnx),
        description,
        options,
        MAX_WORK.watch,
      ) as PlayerSession;
      expect(session).toMatchObject({ policyId: "p", policyVersion: 7, stateSize, isRandom: false });
      const batch = new ObservationBatch(description.observation as never, rows, {
        maskSize: (policy.action_mask?.data.length ?? 0) / rows,
        stateSize,
      });
      for (const [e, array] of batch.arrays.entries()) {
        array.set(inputs[batch.arrays.length === 1 ? "obs" : `obs_${e}`].data);
      }
      if (stateSize > 0) batch.states.set(inputs.state_ins.data);
      batch.masks.set(policy.action_mask?.data ?? []);
      void session.run(batch, rows);
      const sampler = createSampler(description.action as never, rows);
      for (const [i, output] of sampler.outputNames.entries()) {
        expectAllClose(session.outputs[i], outputs[output].data);
      }
      expectAllClose(session.values, outputs.value.data);
      expectAllClose(session.states, outputs.state_outs?.data ?? []);
      sampler.uniforms.set(policy.uniforms.data);
      for (let row = 0; row < rows; row++) sampler.sample(session.outputs, row, batch.masks, row);
      expectAllClose(sampler.actions, policy.actions.data);
      expectAllClose(sampler.logProbs, policy.log_probs.data, AUDIT_TOLERANCE / 10);
    });
  }
});

const masked = GOLDEN_POLICIES.masked;

test("more rows than were announced are played too", () => {
  const golden = GOLDEN_POLICIES.gru;
  const { description, state_size: stateSize, inputs, outputs } = golden;
  const rows = outputs.value.shape[0];
  expect(rows).toBeGreaterThan(1);
  const options = { maxBatch: 1, stateSize };
  const session = createPlayerSession(bytesOf(golden.onnx), description, options, 1e6) as PlayerSession;
  const batch = new ObservationBatch(description.observation as never, rows, { maskSize: 0, stateSize });
  batch.arrays[0].set(inputs.obs.data);
  batch.states.set(inputs.state_ins.data);
  void session.run(batch, rows);
  expectAllClose(session.values, outputs.value.data);
  expectAllClose(session.states, outputs.state_outs.data);
});

describe("left to ONNX Runtime", () => {
  const options = { maxBatch: 4 };
  const made = (onnx: Uint8Array, game = CARTPOLE_LIKE, more: object = {}, maxWork = 1e6) =>
    createPlayerSession(onnx, game, { ...options, ...more }, maxWork);

  test("a network with more multiplications than the limit", () => {
    // The trunks of policy and value side by side, 4 to 64 to 64 numbers, and their heads.
    const weights = readOnnx(goldenOnnx()).nodes.filter(({ op }) => op === "Gemm");
    const { constants } = readOnnx(goldenOnnx());
    const work = weights.reduce((sum, { inputs }) => sum + (constants.get(inputs[1])?.data.length ?? 0), 0);
    expect(work).toBeGreaterThan(4 * 64 + 64 * 64);
    expect(made(goldenOnnx(), CARTPOLE_LIKE, {}, work)).not.toBeNull();
    expect(made(goldenOnnx(), CARTPOLE_LIKE, {}, work - 1)).toBeNull();
  });

  test("a picture's network, in a worker", () => {
    const { description, onnx } = GOLDEN_POLICIES.conv;
    expect(made(bytesOf(onnx), description)).not.toBeNull();
    expect(made(bytesOf(onnx), description, {}, MAX_WORK.rollout)).toBeNull();
  });

  test("an operator that the player does not know", () => {
    const onnx = goldenOnnx();
    const text = Array.from(onnx, (byte) => String.fromCharCode(byte)).join("");
    const at = text.indexOf("Tanh");
    expect(at).toBeGreaterThan(0);
    onnx.set(
      [..."Sinh"].map((letter) => letter.charCodeAt(0)),
      at,
    );
    // Every operator of that name, also the second.
    expect(made(onnx)).toBeNull();
  });

  test("what is damaged, or is no policy of the game: the engine's session says what is wrong", () => {
    expect(made(new Uint8Array([1, 2, 3]))).toBeNull();
    expect(made(goldenOnnx().subarray(0, 900))).toBeNull();
    expect(
      made(goldenOnnx(), { ...CARTPOLE_LIKE, action: { kind: "discrete", n: 3, labels: null } }),
    ).toBeNull();
    const five = { kind: "box", dtype: "float32", shape: [5], low: null, high: null } as never;
    expect(made(goldenOnnx(), { ...CARTPOLE_LIKE, observation: five })).toBeNull();
    const box = { kind: "box", shape: [2], low: -1, high: 1 } as never;
    expect(made(goldenOnnx(), { ...CARTPOLE_LIKE, action: box })).toBeNull();
    expect(made(goldenOnnx(), CARTPOLE_LIKE, { stateSize: 16 })).toBeNull();
    expect(made(bytesOf(masked.onnx), masked.description)).not.toBeNull();
  });
});
