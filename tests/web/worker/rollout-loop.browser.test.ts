/** What the rollout loop leaves behind in memory, in a real Chromium. */

import { expect, test } from "vitest";
import cartpole from "../../../web/games/cartpole/game.ts";
import { createLoop, FakePolicy, lease, seat } from "./support/counting-game.ts";

const INSTANCES = 64;
const HORIZON = 128;
const AGENT_STEPS = 1_000_000;

/** Bytes of live objects: Chromium is started with `--expose-gc` and `--enable-precise-memory-info`. */
function liveBytes(): number {
  const { gc } = globalThis as unknown as { gc(): void };
  for (let i = 0; i < 3; i++) gc();
  return (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize;
}

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

test("the loop's own code allocates nothing per agent step: only awaits and finished episodes leave garbage", async () => {
  const loop = createLoop(cartpole, {
    seat: seat({ instance_ids: Array.from({ length: INSTANCES }, (_, i) => i), horizon: 2048 }),
    now: () => performance.now(),
  });
  const policy = new FakePolicy(INSTANCES);
  await loop.play(lease(), policy);
  const used = (): number =>
    (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize;
  liveBytes();
  const before = used();
  await loop.play(lease({ lease_id: 2 }), policy);
  const garbage = used() - before;
  console.log(`131,072 agent steps: ${(garbage / 1024).toFixed(0)} KiB of garbage`);
  // One small object per agent step would be 131,072 x 28 bytes = 3.5 MiB more than the 1.4 MiB measured.
  expect(garbage).toBeLessThan(3 * 1024 * 1024);
});
