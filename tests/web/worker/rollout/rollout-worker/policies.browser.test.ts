/** The policies a worker holds: when they are made, which stay, which are refused. */

import { expect, test } from "vitest";
import { admit, news, policy, trainLease, until, useAdmittedWorkers } from "../../support/admitted-worker.ts";
import { lease } from "../../support/counting-game.ts";

useAdmittedWorkers();

test("a new version is made while the old one plays, and old sessions are released", async () => {
  const socket = await admit();
  const played: number[] = [];
  for (let version = 1; version <= 6; version++) {
    socket.hears(policy(version));
    socket.hears(trainLease(version, version, 3));
    await until(() => socket.of("policy_ack").length === version, `ack ${version}`);
    played.push(version);
  }
  await until(() => socket.of("rollout_close").length === 6, "closes");
  const versions = socket.of("block").map((block) => block.policy_version);
  expect(versions).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6]);
  // A version that is still there is acknowledged at once; one that was released is made again.
  socket.hears(policy(6));
  await until(() => socket.of("policy_ack").length === 7, "ack of 6 again");
  expect(socket.of("policy_ack")[6].create_ms).toBe(0);
  socket.hears(policy(1));
  await until(() => socket.of("policy_ack").length === 8, "ack of 1 again");
  expect(socket.of("policy_ack")[7].create_ms).toBeGreaterThan(0);
});

test("a version that came while two older ones are needed is there for the lease that follows", async () => {
  const socket = await admit();
  socket.hears(policy(1));
  socket.hears(trainLease(1, 1, 40));
  socket.hears(policy(2));
  socket.hears(trainLease(2, 2, 40));
  socket.hears(policy(3));
  await until(() => socket.of("policy_ack").length === 3, "acks");
  socket.hears(trainLease(3, 3, 1));
  await until(() => socket.of("rollout_close").length === 3, "closes");
  expect(news.filter(({ type }) => type === "crashed")).toEqual([]);
});

test("E9: the newest version of every named policy stays, whichever came last", async () => {
  const socket = await admit();
  const names = ["hunter", "prey", "decoy"];
  for (const policy_id of names) socket.hears({ ...policy(1), policy_id });
  await until(() => socket.of("policy_ack").length === 3, "acks");
  for (const [i, policy_id] of names.entries()) {
    socket.hears({
      ...trainLease(10 + i, 1, 1),
      seats: [{ ...lease().seats[0], policy_id, policy_version: 1 }],
    });
  }
  await until(() => socket.of("rollout_close").length === 3, "closes");
  expect(socket.of("block").map((block) => block.policy_id)).toEqual(names);
  expect(news.filter(({ type }) => type === "crashed")).toEqual([]);
});

test("a model that is none ends the worker with what ONNX Runtime says", async () => {
  const socket = await admit();
  socket.hears({ ...policy(1), onnx: new Uint8Array([1, 2, 3]) });
  await until(() => news.some(({ type }) => type === "crashed"), "crash");
  const [crashed] = news.filter((each) => each.type === "crashed");
  expect(crashed.report).toMatchObject({ kind: "crash", text: expect.stringMatching(/protobuf/i) });
  expect(socket.of("policy_ack")).toEqual([]);
});
