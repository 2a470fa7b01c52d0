/** Which entries of a run's log are shown. */

import type { LogEntry } from "@attract/schema";
import { describe, expect, it } from "vitest";
import { clockOf, entriesFound, textOfLog } from "../../../../web/dashboard/src/state/log-text.ts";

const ENTRIES: readonly LogEntry[] = [
  { source: "server", level: "info", time: "2026-11-27T03:04:05Z", text: "attract.run: run p begins" },
  { source: "game", level: "debug", time: "2026-11-27T03:04:06Z", text: "Tick 100" },
  { source: "game", level: "warning", time: "2026-11-27T03:04:07Z", text: "the ball left the field" },
  { source: "learner", level: "error", time: null, text: "Traceback: the ball" },
];
const ALL = { level: "debug", source: null, search: "" } as const;

describe("entriesFound", () => {
  it("shows entries from the least level on", () => {
    expect(entriesFound(ENTRIES, ALL)).toEqual(ENTRIES);
    expect(entriesFound(ENTRIES, { ...ALL, level: "info" })).toEqual([ENTRIES[0], ENTRIES[2], ENTRIES[3]]);
    expect(entriesFound(ENTRIES, { ...ALL, level: "error" })).toEqual([ENTRIES[3]]);
  });

  it("shows one source", () => {
    expect(entriesFound(ENTRIES, { ...ALL, source: "game" })).toEqual([ENTRIES[1], ENTRIES[2]]);
  });

  it("finds entries that have every word, in any case", () => {
    expect(entriesFound(ENTRIES, { ...ALL, search: " BALL  the " })).toEqual([ENTRIES[2], ENTRIES[3]]);
    expect(entriesFound(ENTRIES, { ...ALL, search: "ball field begins" })).toEqual([]);
  });
});

it("an entry without a time has no clock", () => {
  expect(clockOf(ENTRIES[3])).toBe("");
  expect(clockOf(ENTRIES[0])).toMatch(/^\d\d:\d\d:05$/);
});

it("a line for the clipboard has time, level, source and text", () => {
  expect(textOfLog(ENTRIES.slice(2))).toBe(
    "2026-11-27T03:04:07Z WARNING game the ball left the field\nERROR learner Traceback: the ball",
  );
});
