/** Which episodes of a lease are sent. */

import type { Lease, RecordedEpisode } from "@attract/schema";
import { EpisodePicker } from "@attract/worker/episode/episode-picker";
import { expect, test } from "vitest";

/** The returns of the episodes that are sent, and how many were recorded for that. */
function picked(mode: Lease["record"], returns: readonly number[], unrecorded: readonly number[] = []) {
  const sent: number[] = [];
  let recorded = 0;
  const picker = new EpisodePicker(mode, (episode) => sent.push(episode.returns[0]));
  for (const value of returns) {
    picker.offer([value], () => {
      recorded++;
      return unrecorded.includes(value) ? null : ({ returns: [value] } as RecordedEpisode);
    });
  }
  const early = [...sent];
  picker.finish();
  return { early, sent, recorded };
}

test("the best, the worst and the one nearest to the median are sent at the end, each once", () => {
  expect(picked("extremes", [3, 9, 1, 5, 4])).toEqual({ early: [], sent: [9, 1, 4], recorded: 5 });
  expect(picked("extremes", [2]).sent).toEqual([2]);
  expect(picked("extremes", []).sent).toEqual([]);
});

test("what could not be recorded is not sent", () => {
  expect(picked("extremes", [3, 9, 1], [9]).sent).toEqual([3, 1]);
});

test("all are sent as they end, and nothing where nothing is asked for", () => {
  expect(picked("all", [3, 9])).toEqual({ early: [3, 9], sent: [3, 9], recorded: 2 });
  expect(picked("none", [3, 9])).toEqual({ early: [], sent: [], recorded: 0 });
});

test("a long lease records no more than 32 candidates besides new extremes", () => {
  const { recorded, sent } = picked("extremes", [
    0,
    100,
    ...Array.from({ length: 500 }, (_, i) => 1 + (i % 50)),
  ]);
  expect(recorded).toBe(32);
  expect(sent.slice(0, 2)).toEqual([100, 0]);
});
