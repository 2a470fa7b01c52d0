/** A recurrent policy that plays two agents. */

import { type Block, float32View, int32View, type WelcomeWorker } from "@attract/schema";
import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createPolicySession } from "@attract/worker/policy/policy-session";
import { expect, test } from "vitest";
import {
  admit,
  moduleUrl,
  policy,
  until,
  useAdmittedWorkers,
  welcome,
} from "../../support/admitted-worker.ts";
import { lease } from "../../support/counting-game.ts";
import { bytesOf, GOLDEN_POLICIES, type GoldenPolicy } from "../../support/golden-policy.ts";

useAdmittedWorkers();

/** Two agents that see three numbers each and take one of three actions; agent 1 ends in step 5, the game in step 8. */
const PAIR = `
export default {
  contract_version: 1, id: "Pair-v1", tickSeconds: 0.1, numAgents: 2,
  observation: { kind: "box", dtype: "float32", shape: [3], low: null, high: null },
  action: { kind: "discrete", n: 3, labels: null },
  create: () => {
    let n = 0;
    const see = () => [[n / 8, 0, 1], [n / 8, 1, 0]];
    return {
      start() { n = 0; return { observation: see() }; },
      update() {
        n++;
        return { observation: see(), reward: [1, 2], terminated: n === 8 ? true : [false, n === 5] };
      },
    };
  },
};`;

test("S3, S4, E9: a recurrent policy plays two agents; the states that are sent are those of its own steps", async () => {
  const golden = GOLDEN_POLICIES.lstm;
  const description = { ...welcome("").description, ...golden.description, num_agents: 2, id: "Pair-v1" };
  const socket = await admit("", {
    description: description as WelcomeWorker["description"],
    game: { name: "pair", sha256: "1".repeat(64), url: moduleUrl(PAIR), has_page: false },
    instance_ids: [3, 4],
    horizon: 6,
    state_size: golden.state_size,
  });
  socket.hears({ ...policy(1), onnx: bytesOf(golden.onnx) });
  await until(() => socket.of("policy_ack").length === 1, "policy_ack");
  const seats = [lease().seats[0], lease().seats[0]].map((one) => ({ ...one, policy_version: 1 }));
  socket.hears(lease({ lease_id: 5, num_segments: 2, seats }));
  socket.hears(
    lease({
      lease_id: 6,
      purpose: "evaluate",
      num_segments: 0,
      seats,
      episodes: [{ index: 0 }, { index: 1 }],
    }),
  );
  await until(() => socket.of("evaluation_result").length === 1, "evaluation_result");
  const [first, second] = socket.of("block") as Block[];
  expect([...int32View(first.slot_id)]).toEqual([6, 7, 8, 9]);
  expect(new Set(float32View(first.recurrent_state.state))).toEqual(new Set([0]));
  // Agent 1 ended in step 5 and stays away: no memory. Agent 0 remembers six steps; the same in both games.
  const states = float32View(second.recurrent_state.state);
  const size = golden.state_size;
  const replayed = await replay(golden, 6);
  for (const [slot, expected] of [replayed, null, replayed, null].entries()) {
    for (let i = 0; i < size; i++) expect(states[slot * size + i]).toBeCloseTo(expected?.[i] ?? 0, 5);
  }
  expect([...first.valid.data].slice(5 * 4)).toEqual([1, 0, 1, 0]);
  const [result] = socket.of("evaluation_result");
  expect(result.episodes.map(({ returns }) => returns)).toEqual([
    [8, 10],
    [8, 10],
  ]);
});

/** The state after `steps` steps of what agent 0 sees. */
async function replay(golden: GoldenPolicy, steps: number): Promise<Float32Array> {
  const { description, state_size: stateSize } = golden;
  const session = await createPolicySession(bytesOf(golden.onnx), description, { maxBatch: 1 });
  const batch = new ObservationBatch(description.observation as never, 1, { stateSize });
  for (let n = 0; n < steps; n++) {
    batch.arrays[0].set([n / 8, 0, 1]);
    await session.run(batch, 1);
    batch.states.set(session.states);
  }
  await session.release();
  return batch.states;
}
