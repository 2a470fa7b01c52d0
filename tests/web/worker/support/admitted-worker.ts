/** One whole rollout worker in a real Chromium: real inference, a real game module, a socket that only remembers. */

import type { Lease, WelcomeWorker } from "@attract/schema";
import { PortSocket } from "@attract/worker/connection/port-socket";
import { SocketRelay } from "@attract/worker/connection/socket-relay";
import { fetchModule } from "@attract/worker/game/game-module";
import type { RolloutToSupervisor } from "@attract/worker/host/worker-messages";
import { createPolicySession } from "@attract/worker/policy/policy-session";
import { RolloutWorker } from "@attract/worker/rollout/rollout-worker";
import { describe } from "attract/description";
import { afterEach, beforeEach, expect, vi } from "vitest";
import "./engine.ts";
import { countingGame, lease, SEED } from "./counting-game.ts";
import { FakeSocket, HELLO, OpeningSocket } from "./fake-socket.ts";
import { CARTPOLE_LIKE, goldenOnnx } from "./golden-policy.ts";

/** A game as it is served: a module of its own. Episodes of 20 steps; `%` is what each tick does first. */
const MODULE = `
export default {
  contract_version: 1, id: "Served-v1", tickSeconds: 0.1,
  observation: { kind: "box", dtype: "float32", shape: [4], low: null, high: null },
  action: { kind: "discrete", n: 2, labels: null },
  create: () => {
    let n = 0;
    return {
      start({ out }) { n = 0; out.observation.fill(0); },
      update(deltaTime, action, out) {
        n++; %
        out.observation.fill(n / 20);
        return { reward: 1, terminated: n === 20 };
      },
    };
  },
};`;

const urls: string[] = [];

/** Where a worker finds a module of this source, until the test ends. */
export function moduleUrl(source: string): string {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  urls.push(url);
  return url;
}

/** The welcome that a server would give; `atEachTick` is JavaScript that runs first in every tick. */
export function welcome(atEachTick: string, fields: Partial<WelcomeWorker> = {}): WelcomeWorker {
  return {
    type: "welcome_worker",
    run_id: "run",
    worker_id: 0,
    game: {
      name: "served",
      sha256: "0".repeat(64),
      url: moduleUrl(MODULE.replace("%", atEachTick)),
      has_page: false,
    },
    description: { ...describe(countingGame()), id: "Served-v1", metrics: {}, ...CARTPOLE_LIKE },
    instance_ids: Array.from({ length: 16 }, (_, i) => 32 + i),
    seed: SEED,
    horizon: 32,
    max_frame_bytes: 256 * 1024,
    progress_seconds: 0.5,
    state_size: 0,
    ...fields,
  };
}

/** The golden CartPole policy under a version number. */
export function policy(policy_version: number) {
  const onnx = goldenOnnx();
  return { type: "policy" as const, run_id: "run", policy_id: "main", policy_version, onnx, script: "" };
}

export function trainLease(lease_id: number, policy_version: number, num_segments = 2): Lease {
  return lease({ lease_id, num_segments, seats: [{ ...lease().seats[0], policy_version }] });
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  await vi.waitFor(() => expect(condition(), what).toBe(true), { timeout: 20_000, interval: 5 });
}

let worker: RolloutWorker | null = null;

/** What the worker told its supervisor in this test. */
export const news: RolloutToSupervisor[] = [];

/** A worker that said hello and was welcomed; its socket. */
export async function admit(
  atEachTick = "",
  fields: Partial<WelcomeWorker> = {},
  careful = false,
): Promise<FakeSocket> {
  const welcomed = welcome(atEachTick, fields);
  worker = new RolloutWorker({
    runId: "run",
    workerIndex: 0,
    module: await fetchModule(location.href, welcomed.game),
    careful,
    sessions: { create: createPolicySession },
    // Both sides of the port, without the port.
    openSocket: (handlers) => {
      const relay = new SocketRelay("ws://localhost/prefix/ws", HELLO, (message) => socket.heard(message));
      const socket = new PortSocket((message) => relay.heard(message, performance.now()), handlers);
      return socket;
    },
    post: (message) => news.push(message),
  });
  worker.start();
  await until(() => FakeSocket.all.at(-1)?.sent[0]?.type === "hello", "hello");
  const socket = FakeSocket.last;
  socket.hears(welcomed);
  return socket;
}

export function stopWorker(): void {
  worker?.stop();
  worker = null;
}

/** Call once in each test module: a fresh world for every test. */
export function useAdmittedWorkers(): void {
  beforeEach(() => {
    news.length = 0;
    FakeSocket.all = [];
    vi.stubGlobal("WebSocket", OpeningSocket);
  });

  afterEach(() => {
    stopWorker();
    vi.unstubAllGlobals();
    for (const url of urls.splice(0)) URL.revokeObjectURL(url);
  });
}
