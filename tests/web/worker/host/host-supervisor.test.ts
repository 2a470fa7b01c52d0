/** The supervisor with workers and a socket that only remember what they are told. */

import { type Assignment, encodeMessage, type FromBrowser } from "@attract/schema";
import { NOWHERE, UNKNOWN_STEP } from "@attract/worker/game/failures";
import type { GameThread } from "@attract/worker/game/game-thread";
import { failedCheck } from "@attract/worker/host/game-checker";
import { HostSupervisor } from "@attract/worker/host/host-supervisor";
import type {
  HostIdentity,
  HostStatus,
  RolloutToSupervisor,
  SupervisorToPage,
  SupervisorToRollout,
} from "@attract/worker/host/worker-messages";
import { describe as describeGame } from "attract/description";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { countingGame } from "../support/counting-game.ts";
import { FakeSocket } from "../support/fake-socket.ts";
import { FakeThread } from "../support/fake-thread.ts";

const IDENTITY: HostIdentity = {
  base: "https://example.org/prefix/",
  token: "secret",
  hostId: "a".repeat(32),
  build: "dev",
  userAgent: "test",
  hardwareConcurrency: 4,
};
const GAME = { name: "counting", sha256: "0".repeat(64), url: "games/x.js", has_page: false };
const DESCRIPTION = describeGame(countingGame());

class FakeWorker extends FakeThread<SupervisorToRollout, RolloutToSupervisor> {}

function assignment(fields: Partial<Assignment> = {}): Assignment {
  return {
    type: "assignment",
    run_id: "run",
    game: GAME,
    num_workers: 2,
    describe: false,
    silence_seconds: 5,
    ...fields,
  };
}

const report = (text: string) => ({
  kind: "crash" as const,
  name: "Error",
  text,
  stack: "at x",
  ...UNKNOWN_STEP,
  ...NOWHERE,
});

let workers: FakeWorker[];
let checkWorkers: FakeWorker[];
let news: SupervisorToPage[];
let keys: number;
let isServerThere: boolean;
let slowdown: number;

function start(maxWorkers = 8): HostSupervisor {
  const supervisor = new HostSupervisor({
    identity: IDENTITY,
    maxWorkers,
    post: (message) => news.push(message),
    createWorker: () => {
      workers.push(new FakeWorker());
      return workers.at(-1) as GameThread;
    },
    createCheckWorker: () => {
      const worker = new FakeWorker();
      checkWorkers.push(worker);
      return worker as GameThread;
    },
    fetchEngine: async () => new Blob(),
    randomKey: () => (++keys).toString(16).padStart(32, "0"),
    isServerThere: async () => isServerThere,
    measureSlowdown: () => slowdown,
  });
  vi.advanceTimersByTime(0);
  FakeSocket.last.open();
  FakeSocket.last.hears({ type: "welcome_host", host_id: IDENTITY.hostId, tier: "local" });
  return supervisor;
}

function status(): HostStatus {
  return news.filter((message) => message.type === "status").at(-1)!.status;
}

function failures(): Extract<FromBrowser, { type: "game_failed" }>[] {
  return FakeSocket.last.sent.filter((message) => message.type === "game_failed");
}

function beat(worker: FakeWorker, leaseId: number | null, steps = 0): void {
  worker.says({ type: "heartbeat", leaseId, steps, agentSteps: steps * 64 });
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.all = [];
  workers = [];
  checkWorkers = [];
  news = [];
  keys = 0;
  isServerThere = true;
  slowdown = 1;
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a check needs no run: it is played in a worker of its own, and its answer goes back", () => {
  start();
  const play = { random_episodes: null, is_fresh: false, parameters: {}, record: false };
  const order = { type: "check_game" as const, check_id: 5, game: GAME, budget_seconds: 1, ...play };
  FakeSocket.last.hears(order);
  expect(checkWorkers[0].posted).toEqual([order]);
  const answer = { ...failedCheck(order, { id: "load", text: "t", fix: "f" }), findings: [] };
  checkWorkers[0].says({ type: "answered", answer } as never);
  expect(FakeSocket.last.of("game_checked")).toEqual([answer]);
  FakeSocket.last.hears({ ...order, check_id: 6 });
  vi.advanceTimersByTime(30_000);
  const hung = { check_id: 6, findings: [{ id: "hang" }] };
  expect(FakeSocket.last.of("game_checked").at(-1)).toMatchObject(hung);
  expect(checkWorkers[1].isTerminated).toBe(true);
});

test("of a page game whose threads would share a process, one worker plays", () => {
  start();
  FakeSocket.last.hears(assignment({ game: { ...GAME, has_page: true } }));
  expect(workers.length).toBe(1);
  expect(status().numWorkers).toBe(1);
});

describe("an assignment", () => {
  test("the socket's URL derives from the base, and the first message is the hello", () => {
    start(3);
    expect(FakeSocket.last.url).toBe("wss://example.org/prefix/ws");
    expect(FakeSocket.last.sent[0]).toMatchObject({
      type: "hello",
      role: "host",
      max_workers: 3,
      token: "secret",
    });
    expect(status()).toMatchObject({ connected: true, tier: "local", runId: null });
  });

  test("starts as many workers as wanted, at most the page's own limit, each with a key of its own", () => {
    const supervisor = start(3);
    const control = FakeSocket.last;
    control.hears(assignment({ num_workers: 8 }));
    expect(workers).toHaveLength(3);
    const orders = workers.map((worker) => worker.posted[0]);
    expect(orders.map((order) => (order.type === "start" ? order.workerIndex : -1))).toEqual([0, 1, 2]);
    expect(control.sent.at(-1)).toEqual({
      type: "host_status",
      run_id: "run",
      num_workers: 3,
      hidden: false,
    });
    supervisor.setMaxWorkers(1);
    expect(workers.map((worker) => worker.posted.at(-1)?.type)).toEqual(["start", "stop", "stop"]);
    workers[1].says({ type: "ended", error: null });
    expect(workers[1].isTerminated).toBe(true);
    control.hears(assignment({ num_workers: 8 }));
    expect(workers).toHaveLength(3);
    expect(status()).toMatchObject({ numWorkers: 1, game: "counting", runId: "run" });
  });

  test("hostile_01: a worker is never told token or key: its hello is sent for it, on a socket it does not hold", () => {
    start();
    const { base } = IDENTITY;
    FakeSocket.last.hears(assignment());
    for (const worker of workers) worker.says({ type: "connect", delayMs: 0 });
    vi.advanceTimersByTime(0);
    const sockets = FakeSocket.all.slice(1);
    for (const socket of sockets) socket.open();
    const hellos = sockets.map((socket) => socket.of("hello")[0]);
    expect(hellos).toMatchObject(
      [0, 1].map((worker_index) => ({ role: "worker", token: "secret", worker_index })),
    );
    expect(new Set(hellos.map((hello) => hello.worker_key)).size).toBe(2);
    expect(workers[0].posted.at(-1)).toEqual({ type: "opened" });
    const posted = JSON.stringify(workers.map((worker) => worker.posted));
    for (const secret of [
      IDENTITY.token,
      IDENTITY.hostId,
      base,
      ...hellos.map((hello) => hello.worker_key!),
    ]) {
      expect(posted).not.toContain(secret);
    }
    workers[0].says({ type: "send", bytes: encodeMessage({ type: "goodbye" }) });
    expect(sockets[0].of("goodbye")).toHaveLength(1);
    sockets[0].hears({ type: "run_ended", run_id: "run", reason: "done" });
    expect(workers[0].posted.at(-1)).toMatchObject({ type: "received" });
  });

  test("hostile_01: what no worker says ends that worker, and neither its host nor the others", () => {
    start();
    const control = FakeSocket.last;
    control.hears(assignment());
    workers[0].says({ type: "send", bytes: "text" } as never);
    expect(workers[0].isTerminated).toBe(true);
    expect(control.of("game_failed")[0]).toMatchObject({ kind: "crash", worker_index: 0 });
    expect(control.of("game_failed")[0].text).toContain("the worker sent an invalid message");
    workers[2].says(null as never);
    expect(workers.map((worker) => worker.isTerminated)).toEqual([true, false, true, false]);
    expect(status()).toMatchObject({ connected: true, ended: false, numWorkers: 2 });
  });

  test("describes the game in a worker of its own before it starts any", () => {
    start();
    FakeSocket.last.hears(assignment({ describe: true }));
    expect(workers).toHaveLength(1);
    expect(workers[0].posted).toEqual([{ type: "describe" }]);
    workers[0].says({ type: "described", description: DESCRIPTION });
    expect(workers[0].isTerminated).toBe(true);
    const described = FakeSocket.last.sent.find((message) => message.type === "game_described");
    expect(described).toMatchObject({ run_id: "run", sha256: GAME.sha256, description: DESCRIPTION });
    expect(workers.slice(1).map((worker) => worker.posted[0].type)).toEqual(["start", "start"]);
  });

  test("a game that does not load is reported, and no worker is started", () => {
    start();
    FakeSocket.last.hears(assignment({ describe: true }));
    workers[0].says({ type: "describe_failed", report: { ...report("no default export"), kind: "load" } });
    expect(failures()).toMatchObject([
      { kind: "load", text: "no default export", stack: "at x", worker_index: null },
    ]);
    expect(workers).toHaveLength(1);
    expect(status().error).toBe("no default export");
  });

  test("a module that never finishes loading is ended and reported after 15 s", () => {
    start();
    FakeSocket.last.hears(assignment({ describe: true }));
    vi.advanceTimersByTime(14_900);
    expect(failures()).toEqual([]);
    vi.advanceTimersByTime(500);
    expect(failures()).toMatchObject([{ kind: "load", stack: null }]);
    expect(workers[0].isTerminated).toBe(true);
  });

  test("the run's end, or an assignment without a run, ends the workers", () => {
    start();
    FakeSocket.last.hears(assignment());
    FakeSocket.last.hears({ type: "run_ended", run_id: "run", reason: "done" });
    expect(workers.map((worker) => worker.posted.at(-1)?.type)).toEqual(["stop", "stop"]);
    vi.advanceTimersByTime(1000);
    expect(workers.every((worker) => worker.isTerminated)).toBe(true);
    expect(FakeSocket.last.sent.at(-1)).toMatchObject({ type: "host_status", run_id: null, num_workers: 0 });
    FakeSocket.last.hears(assignment({ run_id: "next", num_workers: 1 }));
    expect(workers).toHaveLength(3);
    FakeSocket.last.hears(assignment({ run_id: null, game: null, num_workers: 0 }));
    expect(workers[2].posted.at(-1)?.type).toBe("stop");
  });
});

describe("a silent worker", () => {
  test("has as much longer as the machine is slower, and its report says so", () => {
    slowdown = 4;
    start();
    FakeSocket.last.hears(assignment());
    beat(workers[0], 9, 3);
    vi.advanceTimersByTime(19_000);
    expect(failures()).toEqual([]);
    vi.advanceTimersByTime(2000);
    expect(failures()[0].text).toMatch(
      /^the worker was silent for 20 s, on a machine so busy .* 4.0 times as long, after/,
    );
  });

  test("is ended and reported after 5 s with its lease, and another starts with a new key", () => {
    start();
    FakeSocket.last.hears(assignment());
    workers[0].says({ type: "admitted", instanceIds: [64, 65, 66], seed: { low: 1, high: 2 } });
    for (let ms = 0; ms < 5000; ms += 250) {
      if (ms === 0) beat(workers[0], 9, 3);
      beat(workers[1], 10, ms);
      vi.advanceTimersByTime(250);
    }
    expect(failures()).toEqual([]);
    beat(workers[1], 10, 5000);
    vi.advanceTimersByTime(500);
    expect(workers[0].isTerminated).toBe(true);
    expect(workers[1].isTerminated).toBe(false);
    const [hang] = failures();
    expect(hang).toMatchObject({
      kind: "hang",
      stack: null,
      worker_index: 0,
      lease_id: 9,
      slot_id: null,
      seed: { low: 1, high: 2 },
    });
    expect(hang.text).toContain("one of the slots 64 to 66");
    expect(hang.text).toContain("no stack");
    const [first, , second] = workers.map((worker) => worker.posted[0]);
    expect(first).toMatchObject({ type: "start", careful: false });
    expect(second).toMatchObject({ type: "start", workerIndex: 0, careful: true });
    expect(second).not.toEqual(first);
  });

  test("is named by its slot where the worker says whose turn it is", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    workers[0].says({ type: "admitted", instanceIds: [64, 65, 66], seed: { low: 1, high: 2 } });
    beat(workers[0], 9, 3);
    workers[0].says({ type: "turn", instanceId: 65 });
    vi.advanceTimersByTime(5500);
    expect(failures()).toMatchObject([{ kind: "hang", slot_id: 65, instance_id: 65, lease_id: 9 }]);
    expect(failures()[0].text).toContain("in slot 65,");
  });

  test("is left alone while it holds no lease", () => {
    start();
    FakeSocket.last.hears(assignment());
    for (const worker of workers) beat(worker, null);
    vi.advanceTimersByTime(60_000);
    expect(workers[0].isTerminated).toBe(false);
    expect(failures()).toEqual([]);
  });

  test("is forgiven when it was the whole device that slept", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    beat(workers[0], 9);
    vi.advanceTimersByTime(250);
    const wake = performance.now() + 60_000;
    vi.setSystemTime(Date.now() + 60_000);
    vi.spyOn(performance, "now").mockImplementation(() => wake);
    vi.advanceTimersByTime(250);
    expect(workers[0].isTerminated).toBe(false);
    expect(failures()).toEqual([]);
  });
});

describe("a worker that crashes", () => {
  test("is reported and started again, but not a third time within a minute", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    for (let i = 0; i < 3; i++) {
      expect(workers).toHaveLength(i + 1);
      workers[i].says({ type: "crashed", report: report(`boom ${i}`) });
      vi.advanceTimersByTime(5000);
    }
    expect(workers).toHaveLength(3);
    // The last says of itself that no other takes the worker's place; its words are the game's.
    expect(failures().map(({ text, worker_lost }) => [text, worker_lost])).toEqual([
      ["boom 0", false],
      ["boom 1", false],
      ["boom 2", true],
    ]);
    expect(FakeSocket.last.sent.at(-1)).toMatchObject({ type: "host_status", num_workers: 0 });
  });

  test("is started again without end when that happens rarely", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    for (let i = 0; i < 6; i++) {
      workers[i].says({ type: "crashed", report: report("boom") });
      vi.advanceTimersByTime(31_000);
    }
    expect(workers).toHaveLength(7);
  });

  test("one that gives the game up is not started again", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    workers[0].says({ type: "ended", error: "the game failed 10 times" });
    vi.advanceTimersByTime(5000);
    expect(workers).toHaveLength(1);
    expect(status().error).toBe("worker 0: the game failed 10 times");
  });

  test("a script that does not load counts as a crash", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    workers[0].onerror?.({ message: "" });
    expect(failures()[0].text).toBe("the worker's script could not be loaded");
    expect(workers).toHaveLength(2);
  });
});

describe("the connection", () => {
  test("the workers play on while the server is away, and are told of again after it", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    const before = FakeSocket.last;
    before.onclose?.({ code: 1006, reason: "" });
    expect(status().connected).toBe(false);
    vi.advanceTimersByTime(600);
    expect(FakeSocket.last).not.toBe(before);
    FakeSocket.last.open();
    FakeSocket.last.hears({ type: "welcome_host", host_id: IDENTITY.hostId, tier: "local" });
    expect(FakeSocket.last.sent.at(-1)).toMatchObject({ type: "host_status", run_id: "run", num_workers: 1 });
    expect(workers[0].isTerminated).toBe(false);
  });

  test("scale 01: connections that died unnoticed are made anew once the server is back, and the page says so", async () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    workers[0].says({ type: "connect", delayMs: 0 });
    await vi.advanceTimersByTimeAsync(0);
    FakeSocket.last.open();
    expect(FakeSocket.all.map(({ readyState }) => readyState)).toEqual([1, 1]);
    isServerThere = false;
    await vi.advanceTimersByTimeAsync(90_000);
    expect(FakeSocket.all).toHaveLength(2);
    expect(status().connected).toBe(false);
    expect(status().error).toMatch(/^the server has not answered for (89|90) s; trying again$/);
    isServerThere = true;
    await vi.advanceTimersByTimeAsync(5_000);
    // The worker asks for its next socket itself; its host's comes after its own back-off of half a second at most.
    expect(workers[0].posted).toContainEqual({ type: "closed", code: 1006, reason: "the server was away" });
    await vi.advanceTimersByTimeAsync(500);
    expect(FakeSocket.all.map(({ readyState }) => readyState)).toEqual([3, 3, 0]);
    FakeSocket.last.open();
    FakeSocket.last.hears({ type: "welcome_host", host_id: IDENTITY.hostId, tier: "local" });
    expect(status()).toMatchObject({ connected: true, error: null });
    expect(workers[0].isTerminated).toBe(false);
  });

  test("scale 01: where the server was away for long, nobody waits for a back-off that has grown", async () => {
    start();
    isServerThere = false;
    for (let i = 0; i < 8; i++) {
      FakeSocket.last.onclose?.({ code: 1006, reason: "" });
      await vi.advanceTimersByTimeAsync(30_000);
    }
    vi.spyOn(Math, "random").mockReturnValue(0.99);
    FakeSocket.last.onclose?.({ code: 1006, reason: "" });
    const before = FakeSocket.all.length;
    isServerThere = true;
    await vi.advanceTimersByTimeAsync(5_500);
    expect(FakeSocket.all.length).toBeGreaterThan(before);
    vi.restoreAllMocks();
  });

  test("a server that answers keeps its connections, however little it has to say", async () => {
    start();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(FakeSocket.all).toHaveLength(1);
    expect(status()).toMatchObject({ connected: true, error: null });
  });

  test("another build asks the page to reload; a wrong token ends the host", () => {
    start();
    FakeSocket.last.onclose?.({ code: 4001, reason: "another build" });
    expect(news).toContainEqual({ type: "reload", reason: "another build" });
    start();
    FakeSocket.last.onclose?.({ code: 4002, reason: "expired" });
    expect(status()).toMatchObject({ ended: true, error: "expired" });
  });

  test("a page that leaves says goodbye", () => {
    const supervisor = start();
    FakeSocket.last.hears(assignment());
    supervisor.stop();
    expect(FakeSocket.last.sent.map(({ type }) => type)).toContain("goodbye");
    vi.advanceTimersByTime(1000);
    expect(workers.every((worker) => worker.isTerminated)).toBe(true);
    expect(news.at(-1)).toEqual({ type: "stopped" });
  });

  test("the page sees each worker's lease and speed", () => {
    start();
    FakeSocket.last.hears(assignment({ num_workers: 1 }));
    for (let i = 0; i <= 12; i++) {
      workers[0].says({ type: "heartbeat", leaseId: 3, steps: i, agentSteps: 500 * i });
      vi.advanceTimersByTime(250);
    }
    expect(status().workers).toEqual([{ index: 0, leaseId: 3, stepsPerSecond: 2000 }]);
    expect(status().stepsPerSecond).toBe(2000);
  });
});
