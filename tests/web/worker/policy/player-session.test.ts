/** The small player in a worker, against what torch says of the same network, and what it leaves to ONNX Runtime. */

import { readOnnx } from "@attract/play/onnx-file";
import { createPlayerSession, MAX_WORK, type PlayerSession } from "@attract/worker/policy/player-session";
import { describe, expect, test } from "vitest";
import {
  bytesOf,
  CARTPOLE_LIKE,
  GOLDEN_MODELS,
  GOLDEN_POLICIES,
  goldenOnnx,
  renamed,
} from "../support/golden-policy.ts";
import { expectAsTorch, rowsOf } from "../support/golden-session.ts";

describe("C9", () => {
  for (const { name, policy, onnx } of GOLDEN_MODELS) {
    test(`C9: ${name}: the small player's outputs, states, actions and log-probabilities are torch's`, async () => {
      const { description, state_size: stateSize } = policy;
      // Announced or not, every row is played.
      for (const maxBatch of [rowsOf(policy), 1]) {
        const options = { maxBatch, stateSize, policyId: "p", policyVersion: 7 };
        const session = createPlayerSession(bytesOf(onnx), description, options, MAX_WORK.watch);
        expect(session).toMatchObject({ policyId: "p", policyVersion: 7, stateSize, isRandom: false });
        await expectAsTorch(session as PlayerSession, policy);
      }
    });
  }
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
    expect(made(renamed(goldenOnnx(), "Tanh", "Sinh"))).toBeNull();
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
  });
});
