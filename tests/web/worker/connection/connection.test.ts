/** The worker's protocol as a table of what happens and what must follow: no socket, no clock. */

import type {
  Answer,
  Ask,
  BlockAck,
  GameFailed,
  Lease,
  LeaseVoid,
  Policy,
  RolloutClose,
  WelcomeWorker,
} from "@attract/schema";
import { type Effect, MAX_WAITING_BYTES, WorkerConnection } from "@attract/worker/connection/connection";
import type { BlockFrame } from "@attract/worker/rollout/block-writer";
import { describe, expect, test } from "vitest";
import { lease } from "../support/counting-game.ts";

function welcome(fields: Partial<WelcomeWorker> = {}): WelcomeWorker {
  return {
    type: "welcome_worker",
    run_id: "run",
    worker_id: 4,
    game: { name: "counting", sha256: "0".repeat(64), url: "games/x.js", has_page: false },
    description: {} as WelcomeWorker["description"],
    instance_ids: [0, 1],
    seed: { low: 1, high: 2 },
    horizon: 4,
    max_frame_bytes: 4096,
    progress_seconds: 2,
    state_size: 0,
    ...fields,
  };
}

function policy(policy_version: number): Policy {
  return {
    type: "policy",
    run_id: "run",
    policy_id: "main",
    policy_version,
    onnx: new Uint8Array(1),
    script: "",
  };
}

function frame(leaseId: number, blockIndex: number, segmentIndex = blockIndex, size = 10): BlockFrame {
  return { leaseId, segmentIndex, blockIndex, bytes: new Uint8Array(size).fill(blockIndex) };
}

function ack(lease_id: number, block_index: number, accepted = true): BlockAck {
  return {
    type: "block_ack",
    run_id: "run",
    lease_id,
    block_index,
    accepted,
    reason: accepted ? null : "spent",
  };
}

function close(lease_id: number): RolloutClose {
  return { type: "rollout_close", run_id: "run", lease_id } as RolloutClose;
}

function voided(lease_id: number): LeaseVoid {
  return { type: "lease_void", run_id: "run", lease_id, reason: "lapsed" };
}

function admitted(): WorkerConnection {
  const connection = new WorkerConnection("run", () => 0.5);
  connection.opened();
  connection.received(welcome());
  return connection;
}

const kinds = (effects: readonly Effect[]): string[] => effects.map(({ kind }) => kind);
const sent = (effects: readonly Effect[]): unknown[] =>
  effects.map((effect) =>
    effect.kind === "send"
      ? effect.message.type
      : effect.kind === "send_frame"
        ? effect.bytes[0]
        : effect.kind,
  );

describe("greeting", () => {
  test("leaves the hello to whoever holds the socket and the token, and is admitted when welcomed", () => {
    const connection = new WorkerConnection("run", () => 0.5);
    expect(connection.opened()).toEqual([]);
    expect(connection.isAdmitted).toBe(false);
    expect(connection.received(welcome())).toEqual([{ kind: "take_seat", welcome: welcome() }]);
    expect(connection.isAdmitted).toBe(true);
  });

  test("messages about another run are ignored", () => {
    const connection = admitted();
    expect(connection.received({ ...lease(), run_id: "other" })).toEqual([]);
    expect(connection.current).toBeNull();
  });
});

describe("policies", () => {
  test("a policy is acknowledged once a session of it exists, with how long that took", () => {
    const connection = admitted();
    expect(connection.received(policy(1))).toEqual([{ kind: "create_policy", policy: policy(1) }]);
    expect(connection.policyReady(policy(1), 3)).toEqual([
      {
        kind: "send",
        message: {
          type: "policy_ack",
          run_id: "run",
          policy_id: "main",
          policy_version: 1,
          create_ms: 3,
        },
      },
    ]);
  });

  test("a policy that is there already is acknowledged and not made again", () => {
    const connection = admitted();
    connection.policyReady(policy(1), 3);
    expect(kinds(connection.received(policy(1)))).toEqual(["renew_policy", "send"]);
    connection.policyReleased("main@1");
    expect(kinds(connection.received(policy(1)))).toEqual(["create_policy"]);
  });

  test("a worker with other games has none of the policies of before: their numbers may be of others", () => {
    const connection = admitted();
    connection.policyReady(policy(1), 3);
    connection.received(welcome());
    expect(kinds(connection.received(policy(1)))).toEqual(["renew_policy", "send"]);
    connection.received({ ...welcome(), seed: { low: 9, high: 9 } });
    expect(kinds(connection.received(policy(1)))).toEqual(["create_policy"]);
  });

  test("versions that a lease needs are known, also the queued one's and the last one's", () => {
    const connection = admitted();
    const seat = lease().seats[0];
    connection.received(lease({ lease_id: 1, seats: [{ ...seat, policy_version: 7 }] }));
    connection.received(lease({ lease_id: 2, seats: [{ ...seat, policy_version: 8 }] }));
    expect([...connection.neededPolicies()]).toEqual(["main@7", "main@8"]);
    connection.leaseFinished(null);
    expect([...connection.neededPolicies()]).toEqual(["main@7", "main@8"]);
    connection.leaseFinished(null);
    expect([...connection.neededPolicies()]).toEqual(["main@8"]);
  });
});

describe("leases", () => {
  test("the first is played, the next one waits for its end", () => {
    const connection = admitted();
    expect(connection.received(lease({ lease_id: 1 }))).toEqual([
      { kind: "play", lease: lease({ lease_id: 1 }) },
    ]);
    expect(connection.received(lease({ lease_id: 2 }))).toEqual([]);
    expect(sent(connection.leaseFinished(close(1)))).toEqual(["rollout_close", "play"]);
    expect(connection.current?.lease_id).toBe(2);
    expect(sent(connection.leaseFinished(close(2)))).toEqual(["rollout_close"]);
    expect(connection.current).toBeNull();
  });

  test("C1: a lease that is sent again is not played again", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 5 }));
    expect(connection.received(lease({ lease_id: 5 }))).toEqual([]);
    connection.leaseFinished(close(5));
    expect(connection.received(lease({ lease_id: 5 }))).toEqual([]);
    expect(connection.current).toBeNull();
    // Not an order of ids: an evaluation may have been numbered before.
    expect(kinds(connection.received(lease({ lease_id: 3 })))).toEqual(["play"]);
  });

  test("C3: progress is told while a lease is played, and only then", () => {
    const connection = admitted();
    expect(connection.progress(0)).toEqual([]);
    connection.received(lease({ lease_id: 1 }));
    expect(connection.progress(7)).toEqual([
      { kind: "send", message: { type: "progress", run_id: "run", lease_id: 1, steps: 7 } },
    ]);
    connection.closed(1006, "");
    expect(connection.progress(8)).toEqual([]);
  });

  test("C3: a void lease is dropped, whether it plays, waits or has blocks under way", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    connection.received(lease({ lease_id: 2 }));
    connection.blockFinished(frame(1, 0));
    expect(connection.received(voided(2))).toEqual([]);
    expect(connection.received(voided(1))).toEqual([{ kind: "void", leaseId: 1 }]);
    expect(connection.leaseFinished(null)).toEqual([]);
    connection.closed(1006, "");
    connection.opened();
    expect(connection.received(welcome())).toEqual([]);
  });

  test("what waits for an acknowledgement is counted until it has one", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    const { byteLength } = frame(1, 0).bytes;
    connection.blockFinished(frame(1, 0));
    connection.blockFinished(frame(1, 1));
    expect(connection.waitingBytes).toBe(2 * byteLength);
    connection.received(ack(1, 0));
    expect(connection.waitingBytes).toBe(byteLength);
    connection.received(ack(1, 1));
    expect(connection.waitingBytes).toBe(0);
  });

  test("C1: a refused block means that its lease is spent", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    connection.blockFinished(frame(1, 0));
    expect(connection.received(ack(1, 0, false))).toEqual([{ kind: "void", leaseId: 1 }]);
  });
});

describe("C1: reconnecting", () => {
  test("C1: unacknowledged blocks are sent again under the same lease, in order, and the close after them", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    for (let i = 0; i < 3; i++) expect(sent(connection.blockFinished(frame(1, i)))).toEqual([i]);
    connection.received(ack(1, 1));
    connection.leaseFinished(close(1));
    expect(connection.closed(1006, "")).toEqual([{ kind: "connect", delayMs: 250 }]);
    expect(connection.opened()).toEqual([]);
    expect(sent(connection.received(welcome({ worker_id: 9 })))).toEqual([0, 2, "rollout_close"]);
    connection.received(ack(1, 0));
    connection.received(ack(1, 2));
    connection.closed(1006, "");
    connection.opened();
    expect(sent(connection.received(welcome()))).toEqual(["rollout_close"]);
  });

  test("C1: the refusal of a block that was sent twice does not void its lease", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    connection.blockFinished(frame(1, 0));
    connection.closed(1006, "");
    connection.opened();
    connection.received(welcome());
    expect(connection.received(ack(1, 0, false))).toEqual([]);
  });

  test("away, the games go on until two finished segments wait; then they wait too", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    connection.closed(1006, "");
    expect(connection.blockFinished(frame(1, 0, 0))).toEqual([]);
    connection.blockFinished(frame(1, 1, 0));
    expect(connection.mayPlayOn()).toBe(true);
    connection.blockFinished(frame(1, 2, 1));
    expect(connection.mayPlayOn()).toBe(false);
    connection.opened();
    expect(sent(connection.received(welcome()))).toEqual([0, 1, 2]);
    expect(connection.mayPlayOn()).toBe(true);
  });

  test("another seat after a reconnect: what was for the old one is dropped", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    connection.blockFinished(frame(1, 0));
    connection.closed(1006, "");
    connection.opened();
    const other = welcome({ instance_ids: [6, 7] });
    expect(connection.received(other)).toEqual([
      { kind: "void", leaseId: 1 },
      { kind: "take_seat", welcome: other },
    ]);
    connection.received(lease({ lease_id: 1 }));
    expect(sent(connection.leaseFinished(null))).toEqual(["play"]);
  });

  test("blocks of a lease that is no longer played are not sent", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    connection.leaseFinished(null);
    expect(connection.blockFinished(frame(1, 0))).toEqual([]);
  });

  test("a report of a broken game waits for the server", () => {
    const connection = admitted();
    const report = { type: "game_failed", run_id: "run", kind: "throw" } as GameFailed;
    expect(sent(connection.gameFailed(report))).toEqual(["game_failed"]);
    connection.closed(1006, "");
    expect(connection.gameFailed(report)).toEqual([]);
    connection.opened();
    expect(sent(connection.received(welcome()))).toEqual(["game_failed"]);
  });
});

describe("back-pressure", () => {
  test("the games wait above 4 MiB unacknowledged", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }));
    connection.blockFinished(frame(1, 0, 0, MAX_WAITING_BYTES));
    expect(connection.mayPlayOn()).toBe(true);
    connection.blockFinished(frame(1, 1, 0, 1));
    expect(connection.mayPlayOn()).toBe(false);
    connection.received(ack(1, 1));
    expect(connection.mayPlayOn()).toBe(true);
  });
});

describe("the end", () => {
  test("another build asks for a reload with the server's reason", () => {
    const connection = new WorkerConnection("run", () => 0.5);
    connection.opened();
    connection.received({
      type: "refused",
      code: "build",
      reason: "an old page",
      fix: "reload it",
      close_code: 4001,
    });
    expect(connection.closed(4001, "")).toEqual([{ kind: "reload", reason: "an old page; reload it" }]);
    expect(connection.closed(1006, "")).toEqual([]);
  });

  test("a wrong token ends it with the reason; the run's end ends it without one", () => {
    const refused = new WorkerConnection("run", () => 0.5);
    refused.opened();
    expect(refused.closed(4002, "token expired")).toEqual([{ kind: "end", error: "token expired" }]);
    expect(admitted().closed(4010, "")).toEqual([{ kind: "end", error: null }]);
    expect(admitted().received({ type: "run_ended", run_id: "run", reason: "done" })).toEqual([
      { kind: "end", error: null },
    ]);
  });

  test("a socket that opens late, after the end, does not bring it back", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 1 }) satisfies Lease);
    connection.received({ type: "run_ended", run_id: "run", reason: "done" });
    expect(connection.closed(1000, "")).toEqual([]);
    expect(connection.mayPlayOn()).toBe(true);
  });
});

describe("programs outside", () => {
  const ask: Ask = {
    type: "ask",
    run_id: "run",
    order_id: 5,
    policy_id: "outside:bot",
    agent: [1],
    observation: {},
    action_mask: null,
  };
  const action = { dtype: "int32" as const, shape: [1], data: new Uint8Array(4) };
  const answer: Answer = { type: "answer", run_id: "run", order_id: 5, action };

  test("the answer is taken once, and one of another lease is not", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 5 }));
    expect(connection.ask(ask)).toEqual([{ kind: "send", message: ask }]);
    expect(connection.received({ ...answer, order_id: 4 })).toEqual([]);
    expect(connection.received(answer)).toEqual([{ kind: "answered", action }]);
    expect(connection.received(answer)).toEqual([]);
  });

  test("what is asked is asked again on a new socket, until it is answered", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 5 }));
    connection.closed(1006, "");
    expect(connection.ask(ask)).toEqual([]);
    connection.opened();
    expect(sent(connection.received(welcome()))).toContain("ask");
    connection.received(answer);
    connection.closed(1006, "");
    connection.opened();
    expect(sent(connection.received(welcome()))).not.toContain("ask");
  });

  test("nothing is asked for a lease that is void", () => {
    const connection = admitted();
    connection.received(lease({ lease_id: 5 }));
    connection.ask(ask);
    expect(kinds(connection.received(voided(5)))).toEqual(["void"]);
    expect(connection.received(answer)).toEqual([]);
  });
});
