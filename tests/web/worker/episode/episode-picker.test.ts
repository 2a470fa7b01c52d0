/** The best, the worst and the median episode of a lease are sent, each once. */

import type { RecordedEpisode } from "@attract/schema";
import { EpisodePicker } from "@attract/worker/episode/episode-picker";
import { expect, test } from "vitest";

function picked(mode: "none" | "extremes" | "all", returns: readonly number[], lost: readonly number[] = []) {
  const sent: string[] = [];
  let asked = 0;
  const picker = new EpisodePicker(mode, ({ id }) => sent.push(id));
  for (const value of returns)
    picker.offer([value - 1, value + 1], () => {
      asked++;
      return lost.includes(value) ? null : ({ id: String(value) } as RecordedEpisode);
    });
  picker.finish();
  return { sent, asked };
}

test("of many episodes three are sent: best, worst, and the one nearest to the median", () => {
  expect(picked("extremes", [5, 1, 9, 4, 6, 2, 8]).sent).toEqual(["9", "1", "5"]);
  expect(picked("extremes", [3]).sent).toEqual(["3"]);
  expect(picked("extremes", [3, 4]).sent).toEqual(["4", "3"]);
  expect(picked("extremes", []).sent).toEqual([]);
});

test("a late extreme is found, and only what may be sent is made", () => {
  const returns = Array.from({ length: 1000 }, (_, i) => i % 7);
  returns[900] = 50;
  returns[901] = -50;
  const { sent, asked } = picked("extremes", returns);
  expect(sent.slice(0, 2)).toEqual(["50", "-50"]);
  expect(sent).toHaveLength(3);
  expect(asked).toBeLessThan(40);
});

test("an episode that was not recorded is passed over", () => {
  expect(picked("extremes", [1, 2, 9], [9]).sent).toEqual(["2", "1"]);
});

test("all are sent where all are asked for, and none where none is", () => {
  expect(picked("all", [1, 2, 3], [2]).sent).toEqual(["1", "3"]);
  expect(picked("none", [1, 2])).toEqual({ sent: [], asked: 0 });
});
