/** One segment in memory: what its steps, finals and episodes say of it, and nothing of the segment before; episodes as columns of bounded size. */

import { type EpisodeColumns, type EpisodeResult, encodeMessage, type FromBrowser } from "@attract/schema";
import { ObservationBatch } from "@attract/worker/game/observation-batch";
import {
  columnBytes,
  episodeColumns,
  nameBytes,
  numColumnNames,
  resultBytes,
} from "@attract/worker/rollout/episode-columns";
import { type Outcome, SegmentRecorder } from "@attract/worker/rollout/recorder";
import { createSequentialRandom } from "attract/random";
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

function result(changes: Partial<EpisodeResult>): EpisodeResult {
  return {
    instance_id: 0,
    episode: 0,
    step: 0,
    returns: [0],
    length_steps: 0,
    length_ticks: 0,
    end_reason: "terminated",
    metrics: {},
    reward_terms: {},
    lesson_id: null,
    ...changes,
  };
}

function encodedBytes(episodes: EpisodeColumns): number {
  return encodeMessage({ type: "goodbye", episodes } as unknown as FromBrowser).length;
}

test("each field is a column in the order of the results, and the agents' returns lie side by side", () => {
  const columns = episodeColumns([
    result({ instance_id: 4, episode: 1, step: 2, returns: [1.5, -1], length_steps: 3, length_ticks: 6 }),
    result({ instance_id: 5, episode: 7, step: 0, returns: [2.5, 0], end_reason: "cut" }),
  ]);
  expect(columns).toEqual({
    instance_id: [4, 5],
    episode: [1, 7],
    step: [2, 0],
    returns: [1.5, -1, 2.5, 0],
    length_steps: [3, 0],
    length_ticks: [6, 0],
    end_reason: ["terminated", "cut"],
    metrics: {},
    reward_terms: {},
    lesson_id: [],
  });
});

test("a name that one episode did not report has a hole in its column, and zero is none", () => {
  const results = [
    result({ metrics: { food: 0 } }),
    result({ metrics: { falls: 2 }, reward_terms: { food: 1 } }),
  ];
  const columns = episodeColumns(results);
  expect(columns.metrics).toEqual({ food: [0, null], falls: [null, 2] });
  expect(columns.reward_terms).toEqual({ food: [null, 1] });
  expect(numColumnNames(results)).toBe(3);
});

test("lessons are a column as soon as one episode has one", () => {
  expect(episodeColumns([result({}), result({ lesson_id: "small" })]).lesson_id).toEqual([null, "small"]);
});

test.each([
  ["", 0],
  ["a", 31],
  ["a", 32],
  ["a", 300],
  ["ü", 31],
  ["🎈", 40],
])("a name of '%s' %i times has never more bytes than are counted", (letter, times) => {
  const name = letter.repeat(times);
  const encoded = (type: string) => encodeMessage({ type } as unknown as FromBrowser).length;
  // The empty name is one byte, its header.
  expect(nameBytes(name)).toBeGreaterThanOrEqual(encoded(name) - encoded("") + 1);
});

const NUMBERS = [
  0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 0xffffffff, 0x100000000, -1, -0x20, -0x21, -0x80, -0x81,
  -0x8000, -0x8001, -0x80000000, -0x80000001, 0.5, -0.5, 1e300,
];

test.each(NUMBERS)("a return of %d is as long as it is counted", (value) => {
  const empty = encodedBytes(episodeColumns([result({ returns: [0] })]));
  const bytes = encodedBytes(episodeColumns([result({ returns: [value] })]));
  expect(resultBytes(result({ returns: [value] }), 0) - resultBytes(result({ returns: [0] }), 0)).toBe(
    bytes - empty,
  );
});

test("the bound is never less than what is encoded, and little more", () => {
  const stream = createSequentialRandom(0);
  for (let seed = 0; seed < 200; seed++) {
    stream.reset(seed, 0, 0, 0);
    const below = (limit: number) => stream.random.int(limit);
    const pick = <T>(from: readonly T[]): T => from[below(from.length)];
    const named = () =>
      Object.fromEntries(
        ["food", "falls", "ünlü", "x".repeat(40)].flatMap((name) =>
          below(2) ? [[name, pick(NUMBERS)]] : [],
        ),
      );
    const results = Array.from({ length: below(60) }, () =>
      result({
        instance_id: below(70_000),
        episode: below(300),
        step: below(130),
        returns: [pick(NUMBERS), pick(NUMBERS)],
        length_steps: below(1e6),
        length_ticks: below(2 ** 32) * 4,
        end_reason: pick(["terminated", "time_limit", "game_truncated", "cut"]),
        metrics: named(),
        reward_terms: named(),
        lesson_id: pick([null, "small", "größer"]),
      }),
    );
    const numNames = numColumnNames(results);
    const each = results.reduce((sum, one) => sum + resultBytes(one, numNames), 0);
    const bound = columnBytes(results) + each;
    const encoded = encodedBytes(episodeColumns(results)) - encodedBytes(episodeColumns([]));
    expect(bound, `seed ${seed}`).toBeGreaterThanOrEqual(encoded);
    expect(bound, `seed ${seed}`).toBeLessThanOrEqual(1.3 * encoded + 100);
  }
});
