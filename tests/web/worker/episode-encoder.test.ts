/** Episode results byte for byte as the general encoder has them. */

import { type EpisodeResult, encodeMessage } from "@attract/schema";
import { EpisodeEncoder } from "@attract/worker/episode-encoder";
import fc from "fast-check";
import { expect, test } from "vitest";

/** Lists longer than 15 and 65,535 have headers of their own, as have texts longer than 31, 255 and 65,535 bytes. */
const number = fc.oneof(
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom(
    ...[0, -0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 0xffffffff, 0x100000000, 2 ** 53 - 1],
    ...[-1, -0x20, -0x21, -0x80, -0x81, -0x8000, -0x8001, -0x80000000, -0x80000001, 1 - 2 ** 53],
  ),
);
const named = fc.dictionary(
  // A key like "7" would be moved before all others, in both encoders alike.
  fc.string({ unit: "grapheme", maxLength: 12 }),
  number,
  { maxKeys: 20 },
);
const result: fc.Arbitrary<EpisodeResult> = fc.record({
  instance_id: fc.nat(),
  episode: fc.nat(),
  step: fc.nat(70_000),
  returns: fc.array(number, { minLength: 1, maxLength: 20 }),
  length_steps: fc.nat(),
  length_ticks: fc.nat(),
  end_reason: fc.constantFrom("terminated", "time_limit", "game_truncated", "cut"),
  metrics: named,
  reward_terms: named,
  lesson_id: fc.option(
    fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ minLength: 250, maxLength: 260 })),
  ),
});

/** Any value goes through the general encoder; its type names messages only. */
function general(results: readonly EpisodeResult[]): Uint8Array {
  return encodeMessage(results as never);
}

test("any list of results is encoded as by the general encoder", () => {
  const encoder = new EpisodeEncoder();
  fc.assert(
    fc.property(fc.array(result, { maxLength: 20 }), (results) => {
      expect(encoder.encode(results)).toEqual(general(results));
    }),
    { numRuns: 100 },
  );
});

test("lists and texts of every length have the headers of the general encoder", () => {
  const encoder = new EpisodeEncoder();
  const [plain] = fc.sample(result, { numRuns: 1, seed: 1 });
  for (const count of [0, 15, 16, 65_535, 65_536]) {
    const results = Array<EpisodeResult>(count).fill({ ...plain, metrics: {}, reward_terms: {} });
    expect(encoder.encode(results).length).toBe(general(results).length);
    expect(encoder.encode(results).slice(0, 8)).toEqual(general(results).slice(0, 8));
  }
  for (const length of [31, 32, 255, 256, 65_535, 65_536]) {
    const results = [{ ...plain, lesson_id: "l".repeat(length) }];
    expect(encoder.encode(results)).toEqual(general(results));
  }
});
