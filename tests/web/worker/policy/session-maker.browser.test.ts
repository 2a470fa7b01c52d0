/** Who plays in a worker that began without the inference engine. */

import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createPlayerSession, MAX_WORK, PlayerSession } from "@attract/worker/policy/player-session";
import { PolicySession } from "@attract/worker/policy/policy-session";
import { SessionMaker } from "@attract/worker/policy/session-maker";
import wasmUrl from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import { expect, test } from "vitest";
import { allocatedBytes } from "../support/allocated.ts";
import {
  bytesOf,
  CARTPOLE_LIKE,
  GOLDEN_MODELS,
  GOLDEN_POLICIES,
  goldenOnnx,
  renamed,
} from "../support/golden-policy.ts";

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
