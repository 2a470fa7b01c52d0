/** What a script is shown, and that what it returns is played. */

import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { ScriptPolicy } from "@attract/worker/policy/script-policy";
import { box, dict, discrete, set } from "attract/spaces";
import { expect, test } from "vitest";

test("a script sees a set as the list of its rows, and other parts as they are", () => {
  const observation = dict({ me: box({ shape: [2] }), rocks: set({ max: 3, shape: [2] }) });
  const batch = new ObservationBatch(observation, 2);
  batch.arrays[0].set([0, 0, 7, 8]);
  batch.arrays[1].set([1, 2, 1, 3, 4, 1, 0, 0, 0], 9);
  const seen: unknown[] = [];
  const act = (given: unknown): number => {
    seen.push(structuredClone(given));
    return 1;
  };
  const game = { observation, action: discrete(3) };
  const policy = new ScriptPolicy("script:a.js", act, game, { rows: 2, stateSize: 0 }, () => {});
  expect(Array.from(policy.decide(batch, 1, 0.5))).toEqual([1]);
  policy.decide(batch, 0, 0.5);
  expect(seen).toEqual([
    { me: Float32Array.of(7, 8), rocks: [Float32Array.of(1, 2), Float32Array.of(3, 4)] },
    { me: Float32Array.of(0, 0), rocks: [] },
  ]);
});
