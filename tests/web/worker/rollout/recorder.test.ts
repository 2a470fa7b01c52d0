/** One segment in memory: what its steps, finals and episodes say of it, and nothing of the segment before. */

import type { EpisodeResult } from "@attract/schema";
import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { type Outcome, SegmentRecorder } from "@attract/worker/rollout/recorder";
import { box } from "attract/spaces";
import { expect, test } from "vitest";

const SPACE = box({ shape: [1] });
const HORIZON = 3;

/** Two slots; the row of slot c is [c], its state [10 + c]. */
function made() {
  const batch = new ObservationBatch(SPACE, 2, { stateSize: 1 });
  batch.arrays[0].set([0, 1]);
  batch.states.set([10, 11]);
  const action = { actions: new Int32Array(2), numComponents: 1, shape: [] };
  const recorder = new SegmentRecorder(SPACE, { horizon: HORIZON, slotIds: [4, 5], action, stateSize: 1 });
  recorder.begin(0, batch);
  for (let t = 0; t < HORIZON; t++) {
    recorder.recordObservations(t, batch);
    for (let column = 0; column < 2; column++) recorder.recordOutcome(t, column, outcome(), 0);
  }
  return { recorder, batch };
}

function outcome(fields: { terminated?: number; truncated?: number; valid?: number } = {}): Outcome {
  const { terminated = 0, truncated = 0, valid = 1 } = fields;
  return {
    rewards: Float64Array.of(1),
    terminated: Uint8Array.of(terminated),
    truncated: Uint8Array.of(truncated),
    valid: Uint8Array.of(valid),
    executedTicks: 1,
  } as unknown as Outcome;
}

test("E4: a truncation in mid-segment leaves the segment's own bootstrap value alone", () => {
  const { recorder, batch } = made();
  recorder.recordOutcome(1, 0, outcome({ truncated: 1 }), 0);
  recorder.recordFinal(1, 0, batch);
  recorder.recordOutcome(HORIZON - 1, 1, outcome({ truncated: 1 }), 0);
  recorder.recordFinal(HORIZON - 1, 1, batch);
  recorder.finals.values.set([-70, -80]);
  recorder.setBootstrapValues(Float32Array.of(5, 6));
  expect([...recorder.bootstrapValues]).toEqual([5, -80]);
});

test("E4: a termination counts in the bootstrap value where it is that of the last step", () => {
  const { recorder } = made();
  recorder.recordOutcome(0, 0, outcome({ terminated: 1 }), 0);
  recorder.recordOutcome(HORIZON - 1, 1, outcome({ terminated: 1 }), 0);
  recorder.setBootstrapValues(Float32Array.of(5, 6));
  expect([...recorder.bootstrapValues]).toEqual([5, 0]);
});

test("E8, C1: a segment tells the finals and the episodes of its own steps alone", () => {
  const { recorder, batch } = made();
  recorder.recordFinal(0, 0, batch);
  recorder.recordEpisode(0, { step: 0 } as EpisodeResult);
  recorder.begin(HORIZON, batch);
  expect(recorder.finals.count).toBe(0);
  recorder.recordFinal(2, 1, batch);
  recorder.recordEpisode(1, { step: 2 } as EpisodeResult);
  expect([recorder.finals.steps[0], recorder.finals.columns[0], recorder.finals.count]).toEqual([2, 1, 1]);
  expect(recorder.episodes.map(({ step }) => step)).toEqual([2]);
  expect(recorder.columnOfEpisode).toEqual([1]);
  expect([...recorder.firstSteps]).toEqual([HORIZON, HORIZON]);
});

test("S5: a failed step truncates the step before it where that one went on, and no other", () => {
  const before = [
    { what: "went on", flags: outcome(), truncated: 0, finals: 1 },
    { what: "terminated", flags: outcome({ terminated: 1 }), truncated: 0, finals: 0 },
    { what: "was truncated", flags: outcome({ truncated: 1 }), truncated: 1, finals: 0 },
    { what: "counted nowhere", flags: outcome({ valid: 0 }), truncated: 0, finals: 0 },
  ];
  for (const { what, flags, truncated, finals } of before) {
    const { recorder, batch } = made();
    recorder.recordOutcome(1, 1, flags, 0);
    // What the failed step began with, and remembered.
    recorder.observations[0][2 * 2 + 1] = 77;
    batch.states[1] = 99;
    recorder.recordFailure(2, 1, batch.states);
    expect(recorder.numbers.valid[2 * 2 + 1], what).toBe(0);
    expect(recorder.numbers.truncated[1 * 2 + 1], what).toBe(Math.max(truncated, finals));
    expect(recorder.finals.count, what).toBe(finals);
    if (finals === 0) continue;
    expect([recorder.finals.steps[0], recorder.finals.columns[0]]).toEqual([1, 1]);
    expect([recorder.finals.arrays[0][0], recorder.finals.states[0]]).toEqual([77, 99]);
  }
});

test("S5: a failure in the first step reaches back to nothing", () => {
  const { recorder, batch } = made();
  recorder.recordFailure(0, 0, batch.states);
  expect([...recorder.numbers.truncated]).toEqual(new Array(2 * HORIZON).fill(0));
  expect([recorder.numbers.valid[0], recorder.finals.count]).toEqual([0, 0]);
});
