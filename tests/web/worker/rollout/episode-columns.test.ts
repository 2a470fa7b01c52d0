/** Episode results as columns, and the bound of their bytes against what they are when they are encoded. */

import { type EpisodeColumns, type EpisodeResult, encodeMessage, type FromBrowser } from "@attract/schema";
import {
  columnBytes,
  episodeColumns,
  nameBytes,
  numColumnNames,
  resultBytes,
} from "@attract/worker/rollout/episode-columns";
import { createSequentialRandom } from "attract/random";
import { expect, test } from "vitest";

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
