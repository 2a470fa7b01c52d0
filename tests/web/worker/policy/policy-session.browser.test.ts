/** ONNX Runtime in a real Chromium, against what torch says of the same network; who plays in a worker that began without it. */

import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createPlayerSession, MAX_WORK, PlayerSession } from "@attract/worker/policy/player-session";
import { createPolicySession, PolicySession } from "@attract/worker/policy/policy-session";
import { createSampler } from "@attract/worker/policy/sampler";
import { SessionMaker } from "@attract/worker/policy/session-maker";
import wasmUrl from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import { describe, expect, test } from "vitest";
import golden from "../../../contract/golden/policy.json";
import { allocatedBytes } from "../support/allocated.ts";
import {
  bytesOf,
  CARTPOLE_LIKE,
  GOLDEN_MODELS,
  GOLDEN_POLICIES,
  goldenOnnx,
  renamed,
} from "../support/golden-policy.ts";
import { expectAllClose, expectAsTorch, rowsOf } from "../support/golden-session.ts";

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
      expectAllClose(logits, expected.slice(0, 2 * rows));
      expectAllClose(session.values, golden.value.slice(0, rows));
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

  for (const { name, policy, onnx } of GOLDEN_MODELS) {
    test(`C9: ${name}: outputs, states, actions and log-probabilities are torch's`, async () => {
      const { description, state_size: stateSize } = policy;
      const options = { maxBatch: rowsOf(policy), stateSize };
      const session = await createPolicySession(bytesOf(onnx), description, options);
      await expectAsTorch(session, policy);
      await session.release();
    });
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

const engine = async (): Promise<Blob> => (await fetch(wasmUrl)).blob();

test("the small player plays until a policy needs the engine, which is asked for once; then the engine plays", async () => {
  let asked = 0;
  const maker = new SessionMaker(() => {
    asked++;
  });
  const options = { maxBatch: 2 };
  expect(await maker.create(goldenOnnx(), CARTPOLE_LIKE, options)).toBeInstanceOf(PlayerSession);
  expect(asked).toBe(0);
  const { description, onnx } = GOLDEN_POLICIES.conv;
  // A name that no operator has here: what the engine says of it is the worker's answer.
  const unknown = renamed(bytesOf(onnx), "Relu", "Rely");
  const waiting = [
    maker.create(unknown, description, options).then(
      () => "made",
      () => "refused",
    ),
    maker.create(new Uint8Array([1, 2, 3]), CARTPOLE_LIKE, options).then(
      () => "made",
      () => "refused",
    ),
  ];
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(asked).toBe(1);
  await maker.useEngine(await engine());
  expect(await Promise.all(waiting)).toEqual(["refused", "refused"]);
  const session = await maker.create(goldenOnnx(), CARTPOLE_LIKE, options);
  expect(session).toBeInstanceOf(PolicySession);
  await session.release();
});

test("the small player allocates nothing per decision", { tags: ["long"] }, async () => {
  const rows = 64;
  for (const { name, policy, onnx } of GOLDEN_MODELS) {
    const { description, state_size: stateSize } = policy;
    const options = { maxBatch: rows, stateSize };
    const session = createPlayerSession(bytesOf(onnx), description, options, MAX_WORK.watch) as PlayerSession;
    const batch = new ObservationBatch(description.observation as never, rows, { maskSize: 0, stateSize });
    const play = async (): Promise<void> => {
      for (let step = 0; step < 200; step++) await session.run(batch, rows);
    };
    // Until the compiler has made the most of it.
    for (let round = 0; round < 6; round++) await play();
    const perDecision = (await allocatedBytes(play)) / (200 * rows);
    console.log(`${name}: ${perDecision.toFixed(1)} bytes a decision`);
    // A number that becomes an object takes 12 bytes, and each of these networks has more than 30 of them.
    expect(perDecision).toBeLessThan(12);
  }
});
