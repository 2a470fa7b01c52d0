/** The loop's speed in a real Chromium, as a ratio to its bare parts measured in the same run. */

import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createPolicySession } from "@attract/worker/policy/policy-session";
import { GameInstance } from "attract/instance";
import { expect, test } from "vitest";
import cartpole from "../../../../web/games/cartpole/game.ts";
import { createLoop, lease, seat } from "../support/counting-game.ts";
import "../support/engine.ts";
import { CARTPOLE_LIKE, goldenOnnx } from "../support/golden-policy.ts";

const INSTANCES = 128;
const HORIZON = 128;
const ROUNDS = 60;

/** Shortest time of each part in milliseconds; the parts take turns, so that a busy moment disturbs all alike. */
async function fastest<Name extends string>(
  parts: Record<Name, () => Promise<unknown>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(parts) as Name[];
  const best = Object.fromEntries(names.map((name) => [name, Number.POSITIVE_INFINITY])) as Record<
    Name,
    number
  >;
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) {
      const started = performance.now();
      await parts[name]();
      best[name] = Math.min(best[name], performance.now() - started);
    }
  }
  return best;
}

test("a rollout of 128 CartPoles takes little more time than its inference and its games alone", {
  tags: ["long"],
}, async () => {
  const session = await createPolicySession(goldenOnnx(), CARTPOLE_LIKE, { maxBatch: INSTANCES });
  const batch = new ObservationBatch(CARTPOLE_LIKE.observation as never, INSTANCES);
  const games = batch.views.map((view) => new GameInstance(cartpole, { views: [view] }));
  let episode = 0;
  for (const game of games) game.start(episode++);
  let bytes = 0;
  let leaseId = 0;
  const loop = createLoop(cartpole, {
    seat: seat({ instance_ids: Array.from({ length: INSTANCES }, (_, i) => i), horizon: HORIZON }),
    now: () => performance.now(),
    emit: (frame) => {
      bytes += frame.bytes.byteLength;
    },
  });
  const ms = await fastest({
    inference: async () => {
      for (let step = 0; step < HORIZON; step++) await session.run(batch, INSTANCES);
    },
    games: async () => {
      for (let step = 0; step < HORIZON; step++) {
        for (const game of games) {
          game.step(step & 1);
          if (game.episodeOver) game.start(episode++);
        }
      }
    },
    rollout: () => loop.play(lease({ lease_id: leaseId++ }), session),
  });
  const numSteps = INSTANCES * HORIZON;
  const ratio = (ms.inference + ms.games) / ms.rollout;
  const perSecond = (part: number): string => `${(numSteps / part / 1000).toFixed(2)} M steps/s`;
  console.log(
    `inference ${perSecond(ms.inference)}, games ${perSecond(ms.games)}, rollout ${perSecond(ms.rollout)}, ratio ${ratio.toFixed(2)}`,
  );
  expect(bytes).toBeGreaterThan(ROUNDS * numSteps * 37);
  // Measured 0.7 to 0.9; a busy machine disturbs the parts unevenly.
  expect(ratio).toBeGreaterThan(0.5);
  await session.release();
});
