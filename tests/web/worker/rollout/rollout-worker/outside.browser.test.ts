/** Seats that programs outside play: what is asked, and what happens when the answer does not come. */

import { type Ask, float32View, int32View, type Seat, tensorOf } from "@attract/schema";
import { expect, test } from "vitest";
import { admit, moduleUrl, news, until, useAdmittedWorkers, welcome } from "../../support/admitted-worker.ts";
import { lease } from "../../support/counting-game.ts";
import type { FakeSocket } from "../../support/fake-socket.ts";

useAdmittedWorkers();

/** Two agents, four steps; each is paid its own action, and has a mask of its own. */
const PAIR = `
export default {
  contract_version: 1, id: "Pair-v1", tickSeconds: 0.1, numAgents: 2, actionMask: true,
  observation: { kind: "box", dtype: "float32", shape: [4], low: null, high: null },
  action: { kind: "discrete", n: 3, labels: null },
  create: () => {
    let n = 0;
    const see = () => [[n, 0, 0, 0], [n, 1, 0, 0]];
    const may = ({ actionMask }) => [[1, 1, 0], [1, 0, 1]].forEach((mask, agent) => actionMask[agent].set(mask));
    return {
      start({ out }) { n = 0; may(out); return { observation: see() }; },
      update(deltaTime, actions, out) {
        n++;
        may(out);
        return { observation: see(), reward: [actions[0], actions[1]], terminated: n === 4 };
      },
    };
  },
};`;
const EPISODES = { purpose: "evaluate" as const, num_segments: 0, record: "all" as const };

function admitPair(): Promise<FakeSocket> {
  return admit("", {
    description: {
      ...welcome("").description,
      num_agents: 2,
      id: "Pair-v1",
      action: { kind: "discrete", n: 3, labels: null },
      action_mask: true,
    },
    game: { name: "pair", sha256: "1".repeat(64), url: moduleUrl(PAIR), has_page: false },
    instance_ids: [3, 4],
    horizon: 4,
  });
}

function seats(): Seat[] {
  const own = lease().seats[0];
  return [
    { ...own, script: "random", learns: false },
    { ...own, policy_id: "outside:bot", policy_version: 0, script: "outside", learns: false },
  ];
}

function answer(socket: FakeSocket, ask: Ask, action: number): void {
  const actions = Int32Array.from(ask.agent, () => action);
  socket.hears({
    type: "answer",
    run_id: "run",
    order_id: ask.order_id,
    action: tensorOf(actions, [actions.length]),
  });
}

async function asked(socket: FakeSocket, count: number): Promise<Ask> {
  await until(() => socket.of("ask").length === count, `question ${count}`);
  return socket.of("ask")[count - 1];
}

test("C5: each step is asked for all games at once, and what was answered is recorded", async () => {
  const socket = await admitPair();
  socket.hears(lease({ lease_id: 6, ...EPISODES, seats: seats(), episodes: [{ index: 0 }, { index: 1 }] }));
  for (let step = 0; step < 4; step++) {
    const ask = await asked(socket, step + 1);
    expect([ask.run_id, ask.order_id, ask.policy_id, ask.agent]).toEqual(["run", 6, "outside:bot", [1, 1]]);
    expect([...float32View(ask.observation.obs)]).toEqual([step, 1, 0, 0, step, 1, 0, 0]);
    expect([...ask.action_mask!.data]).toEqual([1, 0, 1, 1, 0, 1]);
    answer(socket, ask, step < 3 ? 2 : 0);
  }
  await until(() => socket.of("evaluation_result").length === 1, "result");
  expect(socket.of("evaluation_result")[0].episodes.map(({ returns }) => returns[1])).toEqual([6, 6]);
  const [{ episode }] = socket.of("episode_recorded");
  expect(episode.seats[1]).toMatchObject({ player: "script", policy_id: "outside:bot" });
});

test("E5: a lease that is void meanwhile ends, and the next one is played", async () => {
  const socket = await admitPair();
  const [random, outside] = seats();
  const played = [{ ...random, learns: true }, outside];
  socket.hears(lease({ lease_id: 6, num_segments: 1, seats: played }));
  await asked(socket, 1);
  socket.hears({ type: "lease_void", run_id: "run", lease_id: 6, reason: "lapsed" });
  socket.hears(lease({ lease_id: 7, ...EPISODES, seats: seats(), episodes: [{ index: 0 }] }));
  for (let step = 0; step < 4; step++) answer(socket, await asked(socket, step + 2), 0);
  await until(() => socket.of("evaluation_result").length === 1, "result");
  expect(socket.of("block")).toEqual([]);
  expect(news.filter(({ type }) => type === "crashed")).toEqual([]);
});

test("an answer of another lease is not taken, and one that does not fit ends the worker", async () => {
  const socket = await admitPair();
  socket.hears(lease({ lease_id: 6, ...EPISODES, seats: seats(), episodes: [{ index: 0 }] }));
  const ask = await asked(socket, 1);
  answer(socket, { ...ask, order_id: 5 }, 2);
  const short = tensorOf(new Int32Array(3), [3]);
  socket.hears({ type: "answer", run_id: "run", order_id: 6, action: short });
  await until(() => news.some(({ type }) => type === "crashed"), "report");
  expect(socket.of("ask")).toHaveLength(1);
  expect(int32View(short)).toHaveLength(3);
});
