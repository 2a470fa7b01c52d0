import type { EpisodeResult } from "@attract/schema";
import type { ObservationBatch } from "@attract/worker/game/observation-batch";
import type { GameDefinition } from "attract/contract";
import { describe, expect, test } from "vitest";
import cartpole from "../../web/games/cartpole/game.ts";
import foragers from "../../web/games/foragers/game.ts";
import { collect } from "../web/worker/support/collected.ts";
import { createLoop, FakePolicy, lease, seat } from "../web/worker/support/counting-game.ts";
import { episodesOf } from "../web/worker/support/episodes.ts";

/** A fixed policy: each action's logit is a sine of the observation, so that what is played depends on what is seen. */
class SinePolicy extends FakePolicy {
  readonly #numActions: number;

  constructor(rows: number, numActions: number) {
    super(rows, numActions);
    this.#numActions = numActions;
  }

  override run(batch: ObservationBatch, rows: number): Promise<void> {
    const { size } = batch.entries[0];
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let i = 0; i < size; i++) sum += (i + 1) * batch.arrays[0][row * size + i];
      for (let action = 0; action < this.#numActions; action++) {
        this.logits[row * this.#numActions + action] = Math.sin(3 * sum + action);
      }
    }
    return super.run(batch, rows);
  }
}

async function episodes(
  definition: GameDefinition,
  workers: number[][],
  steps: number,
): Promise<EpisodeResult[]> {
  const results: EpisodeResult[] = [];
  const numActions = (definition.action as { n: number }).n;
  const numAgents = definition.numAgents ?? 1;
  const seats = Array.from({ length: numAgents }, () => lease().seats[0]);
  for (const instances of workers) {
    const seen = collect();
    const loop = createLoop(definition, { ...seen, seat: seat({ instance_ids: instances, horizon: 32 }) });
    const policy = new SinePolicy(instances.length * numAgents, numActions);
    // The places where leases end are the workers' own affair, too.
    const segments = steps / 32 / workers.length;
    for (let id = 1; id <= workers.length; id++) {
      await loop.play(lease({ lease_id: id, num_segments: segments, seats }), policy);
    }
    for (const block of seen.blocks()) {
      for (const one of episodesOf(block)) results.push({ ...one, step: 0 });
    }
  }
  return results.sort((a, b) => a.instance_id - b.instance_id || a.episode - b.episode);
}

describe("the number of workers", () => {
  test.each([
    ["cartpole", cartpole, 384],
    ["foragers, of three agents", foragers, 768],
  ])("C5: changes no episode of %s", async (_, definition, steps) => {
    const alone = await episodes(definition as GameDefinition, [[0, 1, 2, 3, 4, 5]], steps);
    expect(alone.length).toBeGreaterThan(6);
    for (const workers of [
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
      [
        [0, 1],
        [2, 3],
        [4, 5],
      ],
      [[5], [4], [3], [2, 1, 0]],
    ]) {
      expect(await episodes(definition as GameDefinition, workers, steps)).toEqual(alone);
    }
  });
});
