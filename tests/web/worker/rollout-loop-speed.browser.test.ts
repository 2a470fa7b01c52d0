/** The loop's speed in a real Chromium, as a ratio to its bare parts measured in the same run. */

import { ObservationBatch } from "@attract/worker/observation-batch";
import { createPolicySession } from "@attract/worker/policy-session";
import { GameInstance } from "attract/instance";
import { expect, test } from "vitest";
import cartpole from "../../../web/games/cartpole/game.ts";
import { createLoop, lease, seat } from "./support/counting-game.ts";
import { CARTPOLE_LIKE, goldenOnnx } from "./support/golden-policy.ts";

const INSTANCES = 128;
const STEPS = 512;
const ROUNDS = 12;

/** Milliseconds of the fastest of some rounds. */
async function fastest(run: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    await run();
    best = Math.min(best, performance.now() - started);
  }
  return best;
}

test("a rollout of 128 CartPoles takes little more time than its inference and its games alone", async () => {
  const session = await createPolicySession(goldenOnnx(), CARTPOLE_LIKE, { maxBatch: INSTANCES });
  const batch = new ObservationBatch(CARTPOLE_LIKE.observation as never, INSTANCES);
  const inferenceMs = await fastest(async () => {
    for (let step = 0; step < STEPS; step++) await session.run(batch, INSTANCES);
  });
  const games = batch.views.map((view) => new GameInstance(cartpole, { views: [view] }));
  let episode = 0;
  const gamesMs = await fastest(async () => {
    for (const game of games) game.start(episode++);
    for (let step = 0; step < STEPS; step++) {
      for (const game of games) {
        game.step(step & 1);
        if (game.episodeOver) game.start(episode++);
      }
    }
  });
  let bytes = 0;
  const loop = createLoop(cartpole, {
    seat: seat({ instance_ids: Array.from({ length: INSTANCES }, (_, i) => i), horizon: 128 }),
    now: () => performance.now(),
    emit: (frame) => {
      bytes += frame.bytes.byteLength;
    },
  });
  const rolloutMs = await fastest(async () => {
    await loop.play(lease({ num_segments: STEPS / 128 }), session);
  });
  const numSteps = INSTANCES * STEPS;
  const ratio = (inferenceMs + gamesMs) / rolloutMs;
  const perSecond = (ms: number): string => `${(numSteps / ms / 1000).toFixed(2)} M steps/s`;
  console.log(
    `inference ${perSecond(inferenceMs)}, games ${perSecond(gamesMs)}, rollout ${perSecond(rolloutMs)}, ratio ${ratio.toFixed(2)}`,
  );
  expect(bytes).toBeGreaterThan(numSteps * 37);
  // Measured 0.7 to 0.8 on a quiet machine; a busy one disturbs the parts unevenly.
  expect(ratio).toBeGreaterThan(0.45);
  await session.release();
});
