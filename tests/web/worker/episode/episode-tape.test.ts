/** What a frame has room for; what a tape holds is tested by playing it again (`replay-episode.test.ts`). */

import type { RecordedEpisode } from "@attract/schema";
import { fitting } from "@attract/worker/episode/episode-tape";
import { expect, test } from "vitest";

function episode(actionBytes: number, markBytes: number): RecordedEpisode {
  return {
    actions: { dtype: "uint8", shape: [1, 1], deflated: false, data: "A".repeat(actionBytes) },
    marks: { interval: 1, hashes: "0".repeat(markBytes) },
  } as RecordedEpisode;
}

test("an episode is sent where a frame has room for it and 64 KiB of other fields", () => {
  const one = episode(1000, 24);
  expect(fitting(one, 65_536 + 1024)).toBe(one);
  expect(fitting(one, 65_536 + 1023)).toBeNull();
  expect(fitting(null, 1 << 20)).toBeNull();
});
