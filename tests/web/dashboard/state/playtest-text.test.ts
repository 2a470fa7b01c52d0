/** What `attract ci` found, in words. */

import type { PlaytestFinding, PlaytestReport } from "@attract/schema";
import { describe, expect, test } from "vitest";
import {
  beginOf,
  findingIn,
  placeText,
  reportText,
} from "../../../../web/dashboard/src/state/playtest-text.ts";

const NOW = Date.parse("2026-11-26T12:00:00Z");
const FINDING: PlaytestFinding = {
  id: "error",
  level: "error",
  text: "TypeError: x",
  file: "src/game.ts",
  line: 41,
  player: "random",
  step: 21,
  seconds: 2.1,
  episode_file: "01-error.episode.json",
  episode: null,
  problem: null,
};

function report(changes: Partial<PlaytestReport>): PlaytestReport {
  return {
    format: "attract-ci",
    version: 1,
    game: "src/game.ts",
    game_id: "Game-v1",
    verdict: "findings",
    problem: null,
    findings: [FINDING],
    episodes: 64,
    folder: "attract-ci",
    written_at: "2026-11-26T11:00:00Z",
    ...changes,
  };
}

describe("a report", () => {
  test.each([
    [{}, "1 finding in 64 episodes, 1 h ago"],
    [{ findings: [FINDING, { ...FINDING, level: "warn" }] }, "1 finding, 1 warning in 64 episodes, 1 h ago"],
    [{ verdict: "plays", findings: [{ ...FINDING, level: "warn" }] }, "1 warning in 64 episodes, 1 h ago"],
    [{ verdict: "plays", findings: [], episodes: 1 }, "Nothing wrong in 1 episode, 1 h ago"],
    [{ verdict: "not_played", problem: "it hangs" }, "Not played, 1 h ago: it hangs"],
  ] as const)("%o", (changes, text) =>
    expect(reportText(report(changes as Partial<PlaytestReport>), NOW)).toBe(text),
  );
});

describe("a finding", () => {
  test.each([
    [{}, "src/game.ts:41, played by random, step 21, 2.10 s"],
    [{ line: null, player: null, step: null, seconds: null }, "src/game.ts"],
    [{ file: null, line: null }, "played by random, step 21, 2.10 s"],
  ])("is at %o", (changes, text) => expect(placeText({ ...FINDING, ...changes })).toBe(text));

  test("is shown from two seconds before it happens", () => {
    expect(beginOf({ ...FINDING, seconds: 12.5 })).toBe(10.5);
    expect(beginOf({ ...FINDING, seconds: 1 })).toBe(0);
    expect(beginOf({ ...FINDING, seconds: null })).toBe(0);
  });

  test("is found by the folder of its report and the file of its episode", () => {
    const later = { ...FINDING, id: "nan" };
    const reports = [report({ folder: "other", findings: [later] }), report({})];
    expect(findingIn(reports, "attract-ci", "01-error.episode.json")).toBe(FINDING);
    expect(findingIn(reports, "other", "01-error.episode.json")).toBe(later);
    expect(findingIn(reports, "attract-ci", "02-nan.episode.json")).toBeUndefined();
  });
});
