/** Seats that do not learn: past versions and scripts. */

import { type Block, int32View, type Seat } from "@attract/schema";
import { expect, test } from "vitest";
import {
  admit,
  moduleUrl,
  news,
  policy,
  until,
  useAdmittedWorkers,
  welcome,
} from "../../support/admitted-worker.ts";
import { lease } from "../../support/counting-game.ts";
import type { FakeSocket } from "../../support/fake-socket.ts";

useAdmittedWorkers();

/** Two agents; each is paid its own action, and agent 1 may not take action 1 in every other step. */
const PAIR = `
export default {
  contract_version: 1, id: "Pair-v1", tickSeconds: 0.1, numAgents: 2,
  observation: { kind: "box", dtype: "float32", shape: [4], low: null, high: null },
  action: { kind: "discrete", n: 2, labels: null },
  create: () => {
    let n = 0;
    const see = () => [[n, 0, 0, 0], [n, 1, 0, 0]];
    return {
      start() { n = 0; return { observation: see() }; },
      update(deltaTime, actions) {
        n++;
        return { observation: see(), reward: [actions[0], actions[1]], terminated: n === 8 };
      },
    };
  },
};`;

function admitPair(careful = false): Promise<FakeSocket> {
  return admit(
    "",
    {
      description: { ...welcome("").description, num_agents: 2, id: "Pair-v1" },
      game: { name: "pair", sha256: "1".repeat(64), url: moduleUrl(PAIR), has_page: false },
      instance_ids: [3, 4],
      horizon: 8,
    },
    careful,
  );
}

function seats(...given: Partial<Seat>[]): Seat[] {
  return given.map((one) => ({ ...lease().seats[0], ...one }));
}

function script(code: string) {
  return {
    ...policy(0),
    policy_id: "script:players/one.ts",
    policy_version: 0,
    onnx: new Uint8Array(),
    script: code,
  };
}

const SCRIPTED = { policy_id: "script:players/one.ts", policy_version: 0, learns: false };

test("E9: what a past version plays is not sent", async () => {
  const socket = await admitPair();
  for (const version of [1, 2]) socket.hears(policy(version));
  await until(() => socket.of("policy_ack").length === 2, "acks");
  const past = { policy_version: 1, learns: false };
  socket.hears(lease({ lease_id: 5, num_segments: 1, seats: seats(past, { policy_version: 2 }) }));
  await until(() => socket.of("rollout_close").length === 1, "close");
  const [block] = socket.of("block") as Block[];
  expect([...int32View(block.slot_id)]).toEqual([7, 9]);
  expect(block.policy_version).toBe(2);
  expect([...int32View(socket.of("rollout_close")[0].slot_id)]).toEqual([7, 9]);
  expect(block.episodes.length_steps).toEqual([8, 8]);
});

test("E9: games in turn have players of their own", async () => {
  const socket = await admitPair();
  for (const version of [1, 2]) socket.hears(policy(version));
  await until(() => socket.of("policy_ack").length === 2, "acks");
  const [past, newest] = [{ policy_version: 1, learns: false }, { policy_version: 2 }];
  const both = seats(past, newest, newest, past);
  socket.hears(lease({ lease_id: 5, num_segments: 1, record: "all", seats: both }));
  await until(() => socket.of("rollout_close").length === 1, "close");
  const [block] = socket.of("block") as Block[];
  expect([...int32View(block.slot_id)]).toEqual([7, 8]);
  // Each game's result travels with its own agent that learns.
  expect(block.episodes.instance_id).toEqual([3, 4]);
  const recorded = socket.of("episode_recorded").map(({ episode }) => episode);
  const players = Object.fromEntries(
    recorded.map((one) => [one.instance, one.seats.map(({ policy_version }) => policy_version)]),
  );
  expect(players).toEqual({ 3: [1, 2], 4: [2, 1] });
});

test("opponents are kept for the next lease, and the oldest go", async () => {
  const socket = await admitPair();
  for (let version = 20; version >= 8; version--) socket.hears(policy(version));
  await until(() => socket.of("policy_ack").length === 13, "acks");
  // Of 19 to 8, all older than 20, the last eight stay: 15 to 8.
  for (const version of [20, 15, 16]) socket.hears(policy(version));
  await until(() => socket.of("policy_ack").length === 16, "acks again");
  const [newest, kept, gone] = socket.of("policy_ack").slice(13);
  expect([newest.create_ms, kept.create_ms]).toEqual([0, 0]);
  expect(gone.create_ms).toBeGreaterThan(0);
});

test("a policy that comes again stays for the lease that follows it", async () => {
  const socket = await admitPair();
  for (const version of [1, 2, 1, 3]) socket.hears(policy(version));
  // The lease comes later than all of them: of three the last two that came are there.
  await until(() => socket.of("policy_ack").length === 4, "acks");
  const past = { policy_version: 1, learns: false };
  socket.hears(lease({ lease_id: 5, num_segments: 1, seats: seats(past, { policy_version: 3 }) }));
  await until(() => socket.of("rollout_close").length === 1, "close");
  expect(news.filter(({ type }) => type === "crashed")).toEqual([]);
});

test("a script's draws belong to the seed and the step", async () => {
  const socket = await admitPair();
  socket.hears(policy(1));
  socket.hears(script("export const act = (seen, mask, random) => random.int(2);"));
  await until(() => socket.of("policy_ack").length === 2, "acks");
  for (const [leaseId, low] of [
    [6, 1],
    [7, 1],
    [8, 2],
  ]) {
    const episodes = Array.from({ length: 8 }, (_, index) => ({ index }));
    const terms = { purpose: "evaluate" as const, num_segments: 0, episodes, seed: { low, high: 0 } };
    socket.hears(lease({ lease_id: leaseId, ...terms, seats: seats({ policy_version: 1 }, SCRIPTED) }));
  }
  await until(() => socket.of("evaluation_result").length === 3, "results");
  const [first, again, other] = socket
    .of("evaluation_result")
    .map(({ episodes }) => episodes.map(({ returns }) => returns[1]));
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
  expect(new Set(first).size).toBeGreaterThan(1);
});

test("a script plays by what it sees", async () => {
  const socket = await admitPair();
  socket.hears(policy(1));
  socket.hears(
    script(`export function act(observation, mask) {
      if (mask !== null || observation.length !== 4) throw new Error("unexpected");
      return observation[0] < 4 ? 1 : 0;
    }`),
  );
  await until(() => socket.of("policy_ack").length === 2, "acks");
  const played = seats({ policy_version: 1 }, SCRIPTED);
  const evaluate = { purpose: "evaluate" as const, num_segments: 0, record: "all" as const };
  socket.hears(lease({ lease_id: 6, ...evaluate, seats: played, episodes: [{ index: 0 }, { index: 1 }] }));
  await until(() => socket.of("evaluation_result").length === 1, "result");
  const [result] = socket.of("evaluation_result");
  // It sees n = 0 to 7 and takes 1 in the first four steps.
  expect(result.episodes.map(({ returns }) => returns[1])).toEqual([4, 4]);
  expect(
    socket.of("episode_recorded")[0].episode.seats.map(({ player, policy_id }) => [player, policy_id]),
  ).toEqual([
    ["policy", "main"],
    ["script", "script:players/one.ts"],
  ]);
});

test.each([
  ["export const act = () => 7;", "act returned 7; a number from 0 to 1 is an action"],
  ["export const act = () => 'up';", "act returned up; a number"],
  ["export const act = () => Number.NaN;", "act returned NaN"],
  ["export const act = () => ({ toString() { throw new Error('x'); } });", "act returned object"],
  ["export const act = (seen) => seen.nothing.x;", "Cannot read properties of undefined"],
  ["export const play = () => 1;", "exports no function `act(observation, mask, random)`"],
  ["throw new Error('at once');", "at once"],
  ["export const act = ;", "Unexpected token"],
])("a script that cannot play is named: %s", async (code, says) => {
  const socket = await admitPair();
  socket.hears(policy(1));
  socket.hears(script(code));
  socket.hears(lease({ lease_id: 6, num_segments: 1, seats: seats({ policy_version: 1 }, SCRIPTED) }));
  await until(() => news.some(({ type }) => type === "crashed"), "report");
  const crashed = news.find((one) => one.type === "crashed")!;
  expect(crashed.report.text).toContain("script:players/one.ts");
  expect(crashed.report.text).toContain(says);
});

test("a careful worker says when it is a script's turn", async () => {
  const socket = await admitPair(true);
  socket.hears(policy(1));
  socket.hears(script("export const act = () => 0;"));
  socket.hears(lease({ lease_id: 6, num_segments: 1, seats: seats({ policy_version: 1 }, SCRIPTED) }));
  await until(() => socket.of("rollout_close").length === 1, "close");
  expect(news).toContainEqual({ type: "script_turn", player: "script:players/one.ts" });
});
