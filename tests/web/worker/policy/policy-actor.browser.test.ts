/** A policy at the controls of one game on a page, in a real Chromium. */

import { createPolicySession, PolicyActor } from "@attract/worker/policy/policy-actor";
import type { PolicySession } from "@attract/worker/policy/policy-session";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { afterEach, expect, test } from "vitest";
import type { ObservationBatch } from "../../../../web/worker/src/game/observation-batch.ts";
import golden from "../../../contract/golden/policy.json";
import {
  bytesOf,
  CARTPOLE_LIKE,
  GOLDEN_POLICIES,
  type GoldenPolicy,
  goldenOnnx,
} from "../support/golden-policy.ts";

const sessions: PolicySession[] = [];

afterEach(async () => {
  for (const session of sessions.splice(0)) await session.release();
});

async function open(onnx: Uint8Array, game: typeof CARTPOLE_LIKE, maxBatch = 1): Promise<PolicySession> {
  const session = await createPolicySession(onnx, game, { maxBatch });
  sessions.push(session);
  return session;
}

/** Shows row `row` of the golden inputs, whatever is done. */
function showing(policy: GoldenPolicy, rowOf: (agent: number) => number, numAgents = 1): Instance {
  const { obs } = policy.inputs;
  const size = obs.shape.slice(1).reduce((product, n) => product * n, 1);
  const seen = (agent: number) => obs.data.slice(rowOf(agent) * size, (rowOf(agent) + 1) * size);
  const all = () => Array.from({ length: numAgents }, (_, agent) => seen(agent));
  const instance = createInstance({
    contract_version: 1,
    id: "Showing-v1",
    tickSeconds: 0.1,
    numAgents,
    observation: policy.description.observation as never,
    action: policy.description.action as never,
    actionMask: policy.description.action_mask,
    create: () => ({
      start: () => ({ observation: numAgents === 1 ? seen(0) : all() }) as never,
      update: () =>
        ({
          observation: numAgents === 1 ? seen(0) : all(),
          reward: numAgents === 1 ? 0 : all().map(() => 0),
        }) as never,
    }),
  });
  instance.start(0);
  return instance;
}

const ALL_NEW = Uint8Array.of(1, 1, 1);
const NOT_NEW = new Uint8Array(3);

test("one decision: the most probable action; or drawn, as often as it is probable", async () => {
  const session = await open(goldenOnnx(), CARTPOLE_LIKE);
  const actor = new PolicyActor([session], { ...CARTPOLE_LIKE, num_agents: 1 }, 5);
  const game = { ...GOLDEN_POLICIES.masked, description: { ...CARTPOLE_LIKE, num_agents: 1 } };
  const inputs = { obs: { dtype: "float32", shape: [64, 4], data: golden.observations.flat() } };
  for (let row = 0; row < 4; row++) {
    const instance = showing({ ...game, inputs }, () => row);
    const [left, right] = golden.log_probs[row];
    expect(await actor.act(instance, ALL_NEW)).toBe(left >= right ? 0 : 1);
    let lefts = 0;
    for (let i = 0; i < 400; i++) {
      if ((await actor.act(instance, NOT_NEW, { deterministic: false })) === 0) lefts++;
    }
    // Four deviations of a binomial of 400 draws are at most 0.1.
    expect(Math.abs(lefts / 400 - Math.exp(left))).toBeLessThan(0.1);
  }
});

test("S4: the memory goes on from decision to decision until a trajectory begins anew", async () => {
  const policy = GOLDEN_POLICIES.lstm;
  const session = await open(bytesOf(policy.onnx), policy.description);
  const actor = new PolicyActor([session], policy.description);
  const instance = showing(policy, () => 3);
  const values: number[] = [];
  for (const begins of [ALL_NEW, NOT_NEW, NOT_NEW, ALL_NEW, NOT_NEW]) {
    await actor.act(instance, begins);
    values.push(session.values[0]);
  }
  expect(values[3]).toBe(values[0]);
  expect(values[4]).toBe(values[1]);
  expect(new Set(values).size).toBe(3);
});

test("E9: several agents are decided for in one run; who does not play does nothing and learns nothing", async () => {
  const policy = GOLDEN_POLICIES.gaussian;
  const game = { ...policy.description, num_agents: 3 };
  const session = await open(bytesOf(policy.onnx), game, 3);
  const actor = new PolicyActor([session], game);
  const instance = showing(policy, (agent) => 2 * agent, 3);
  const [low, high] = [
    [-2, 0],
    [2, 10],
  ];
  const scaled = (row: number) =>
    [0, 1].map((c) => {
      const unit = Math.max(-1, Math.min(1, policy.modes.data[2 * row + c]));
      return low[c] + ((unit + 1) / 2) * (high[c] - low[c]);
    });
  const all = (await actor.act(instance, ALL_NEW)) as Float32Array[];
  for (const [agent, action] of all.entries()) {
    for (const [c, value] of scaled(2 * agent).entries()) expect(action[c]).toBeCloseTo(value, 4);
  }
  instance.active[1] = 0;
  const some = (await actor.act(instance, NOT_NEW)) as Float32Array[];
  expect([...some[1]]).toEqual([0, 5]);
  expect(some[2][0]).toBeCloseTo(scaled(4)[0], 4);
});

test("a newer version of another core is refused", async () => {
  const lstm = GOLDEN_POLICIES.lstm;
  const actor = new PolicyActor([await open(bytesOf(lstm.onnx), lstm.description)], lstm.description);
  actor.sessions = [await open(bytesOf(GOLDEN_POLICIES.gru.onnx), lstm.description)];
  await expect(
    actor.act(
      showing(lstm, () => 0),
      ALL_NEW,
    ),
  ).rejects.toThrow(/state of 12, got 6/);
});

/** Always prefers `choice` of the masked policy's five, and remembers `memory`; notes what it was asked with. */
function constant(choice: number, memory: number) {
  const seen: number[][] = [];
  const session = {
    stateSize: 1,
    outputs: [Float32Array.from({ length: 15 }, (_, i) => (i % 5 === choice ? 1 : 0))],
    states: new Float32Array(3).fill(memory),
    run: async (batch: ObservationBatch) => void seen.push([...batch.states]),
  };
  return { session: session as unknown as PolicySession, seen };
}

test("E9: agents with policies of their own act and remember as theirs has it", async () => {
  const game = {
    observation: CARTPOLE_LIKE.observation,
    action: { kind: "discrete" as const, n: 5, labels: null },
    action_mask: false,
    num_agents: 3,
  };
  const inputs = { obs: { dtype: "float32", shape: [3, 4], data: new Array(12).fill(0) } };
  const instance = showing({ ...GOLDEN_POLICIES.masked, description: game, inputs }, (agent) => agent, 3);
  const scout = constant(1, 10);
  const keeper = constant(4, 20);
  const actor = new PolicyActor([keeper.session, scout.session, keeper.session], game);
  expect(await actor.act(instance, ALL_NEW)).toEqual([4, 1, 4]);
  await actor.act(instance, NOT_NEW);
  expect(scout.seen).toEqual([
    [0, 0, 0],
    [20, 10, 20],
  ]);
  expect(keeper.seen).toEqual(scout.seen);
  expect(() => new PolicyActor([scout.session, keeper.session], game)).toThrow(/each of the 3 agents, got 2/);
});
