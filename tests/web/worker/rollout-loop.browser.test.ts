/** What the rollout loop leaves behind in memory, in a real Chromium. */

import { expect, test } from "vitest";
import { cdp } from "vitest/browser";
import cartpole from "../../../web/games/cartpole/game.ts";
import { countingGame, createLoop, FakePolicy, lease, seat } from "./support/counting-game.ts";

const INSTANCES = 64;
const HORIZON = 128;
const AGENT_STEPS = 1_000_000;

/** Bytes of live objects: Chromium is started with `--expose-gc` and `--enable-precise-memory-info`. */
function liveBytes(): number {
  const { gc } = globalThis as unknown as { gc(): void };
  for (let i = 0; i < 3; i++) gc();
  return (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize;
}

interface ProfileNode {
  selfSize: number;
  children: ProfileNode[];
}

/** Bytes of all objects made while `run` runs, also of those that were collected since, as V8 samples them. */
async function allocatedBytes(run: () => Promise<unknown>): Promise<number> {
  const session = cdp() as unknown as {
    send(method: string, params?: object): Promise<{ profile: { head: ProfileNode } }>;
  };
  const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await session.send("HeapProfiler.startSampling", { samplingInterval: 512, ...collected });
  await run();
  const { profile } = await session.send("HeapProfiler.stopSampling");
  const sum = (node: ProfileNode): number =>
    node.children.reduce((total, child) => total + sum(child), node.selfSize);
  return sum(profile.head);
}

test("the loop's own code allocates nothing per agent step", async () => {
  const loop = createLoop(countingGame(), {
    seat: seat({ instance_ids: Array.from({ length: INSTANCES }, (_, i) => i), horizon: 2048 }),
    now: () => performance.now(),
  });
  const policy = new FakePolicy(INSTANCES);
  // Until the compiler has made the most of it.
  for (let id = 1; id < 8; id++) await loop.play(lease({ lease_id: id }), policy);
  const allocated = await allocatedBytes(() => loop.play(lease({ lease_id: 8 }), policy));
  console.log(`131,072 agent steps: ${(allocated / 1024).toFixed(0)} KiB allocated`);
  // Promises of 2,048 steps and the blocks at the end: measured 0.2 MiB. One small object per agent step would be 2 MiB more.
  expect(allocated).toBeLessThan(1024 * 1024);
});

test("a million agent steps grow the heap by less than 1 MiB", async () => {
  const loop = createLoop(cartpole, {
    seat: seat({ instance_ids: Array.from({ length: INSTANCES }, (_, i) => i), horizon: HORIZON }),
    now: () => performance.now(),
  });
  const policy = new FakePolicy(INSTANCES);
  await loop.play(lease({ num_segments: 4 }), policy);
  policy.runs.length = 0;
  const before = liveBytes();
  const segments = Math.ceil(AGENT_STEPS / (INSTANCES * HORIZON));
  for (let id = 2; id < 2 + segments; id++) {
    await loop.play(lease({ lease_id: id }), policy);
    policy.runs.length = 0;
  }
  expect(loop.agentSteps).toBeGreaterThanOrEqual(AGENT_STEPS);
  const grown = liveBytes() - before;
  console.log(`${loop.agentSteps} agent steps: ${(grown / 1024).toFixed(0)} KiB more live`);
  expect(grown).toBeLessThan(1024 * 1024);
});
