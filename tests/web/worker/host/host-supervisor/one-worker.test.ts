/** The only worker of a host asks for the inference engine, or says nothing at all. */

import type { GameThread } from "@attract/worker/game/game-thread";
import { HostSupervisor } from "@attract/worker/host/host-supervisor";
import type { RolloutToSupervisor, SupervisorToRollout } from "@attract/worker/host/worker-messages";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeSocket } from "../../support/fake-socket.ts";
import { FakeThread } from "../../support/fake-thread.ts";

const GAME = { name: "counting", sha256: "0".repeat(64), url: "games/x.js", has_page: false };
const IDENTITY = {
  base: "https://example.org/",
  token: "secret",
  hostId: "a".repeat(32),
  build: "dev",
  userAgent: "test",
  hardwareConcurrency: 4,
};

class FakeWorker extends FakeThread<SupervisorToRollout, RolloutToSupervisor> {}

let workers: FakeWorker[];

/** A supervisor whose only worker has started. */
function start(fetchEngine: () => Promise<Blob>): void {
  new HostSupervisor({
    identity: IDENTITY,
    maxWorkers: 1,
    post: () => undefined,
    createWorker: () => workers[workers.push(new FakeWorker()) - 1] as GameThread,
    createCheckWorker: () => new FakeWorker() as GameThread,
    fetchEngine,
    randomKey: () => "0".repeat(32),
    isServerThere: async () => true,
    measureSlowdown: () => 1,
  });
  vi.advanceTimersByTime(0);
  const socket = FakeSocket.last;
  socket.open();
  socket.hears({ type: "welcome_host", host_id: IDENTITY.hostId, tier: "local" });
  const run = { run_id: "run", num_workers: 1, describe: false, silence_seconds: 5 };
  socket.hears({ type: "assignment", game: GAME, ...run });
}

/** As `start`; the worker has asked. */
async function ask(fetchEngine: () => Promise<Blob>): Promise<void> {
  start(fetchEngine);
  workers[0].says({ type: "engine_needed" });
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.all = [];
  workers = [];
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("it is given the engine", async () => {
  const engine = new Blob(["wasm"]);
  await ask(async () => engine);
  expect(workers[0].posted.at(-1)).toEqual({ type: "engine", engine });
  expect(FakeSocket.last.sent.filter(({ type }) => type === "game_failed")).toEqual([]);
});

test("it is reported and started again where the engine cannot be loaded", async () => {
  await ask(() => Promise.reject(new Error("503")));
  const [failure] = FakeSocket.last.of("game_failed");
  expect(failure).toMatchObject({ kind: "crash", text: "the inference engine could not be loaded: 503" });
  expect([workers.length, workers[0].isTerminated]).toEqual([2, true]);
});

test("that never says a word is ended, since its frame's process may have died, and another starts", () => {
  start(() => Promise.reject(new Error("nobody asked")));
  vi.advanceTimersByTime(39_000);
  expect(workers[0].isTerminated).toBe(false);
  vi.advanceTimersByTime(2000);
  expect(workers[0].isTerminated).toBe(true);
  expect(workers[1].posted[0]).toMatchObject({ type: "start", workerIndex: 0 });
});
