/** Faults and notices among the reports of a run. */

import type { GameReport } from "@attract/schema";
import { describe, expect, it } from "vitest";
import {
  firstSeenText,
  isErrorShown,
  isNotice,
  issueText,
  whereText,
} from "../../../../web/dashboard/src/state/faults.ts";

const WORDS = "update() threw: TypeError: Cannot read properties of undefined (reading 'there')";
const THROWN: GameReport = {
  kind: "throw",
  name: "TypeError",
  text: WORDS,
  stack: "    at Catch.update (glass.ts:13:85)",
  host_id: "h",
  worker_index: 0,
  slot_id: 0,
  instance_id: 0,
  episode: 44,
  tick: 5,
  seed: "b917c49edbc920e9",
  step_values: 'action 0 ("left"), observation [0.5]',
  fix: null,
  rollback_to: null,
  count: 31,
  num_workers: 3,
  episode_id: null,
  fault_id: "f1",
  place: "glass.ts:13:85",
  severity: "error",
  repeated: 0,
  worker_lost: false,
  run_error: null,
};
const RUN = { title: "Glass", game: "glass.ts", run_id: "glass-1" };

describe("one fault", () => {
  it("says how often and where it came, and where it was first seen", () => {
    expect(whereText(THROWN)).toBe("31 times in 3 workers, glass.ts:13:85");
    expect(whereText({ ...THROWN, count: 1, place: null })).toBe("");
    expect(firstSeenText(THROWN)).toBe("worker 1, slot 0, episode 44, tick 5, seed b917c49edbc920e9");
  });

  it("A: is the run's error where the server says so, whatever the words", () => {
    const run = { error: "the game failed (throw): x", reports: [THROWN] };
    expect(isErrorShown(run)).toBe(false);
    expect(isErrorShown({ ...run, reports: [{ ...THROWN, run_error: run.error }] })).toBe(true);
    expect(isErrorShown({ ...run, error: "the learner ended" })).toBe(false);
  });

  it("is copied whole for an issue", () => {
    expect(issueText(THROWN, RUN)).toBe(
      [
        `**Glass: ${WORDS}**`,
        "",
        "- 31 times in 3 workers, glass.ts:13:85",
        "- first seen: worker 1, slot 0, episode 44, tick 5, seed b917c49edbc920e9",
        '- action 0 ("left"), observation [0.5]',
        "- game `glass.ts`, run `glass-1`",
        "",
        "```",
        "    at Catch.update (glass.ts:13:85)",
        "```",
      ].join("\n"),
    );
  });
});

it("N14: an issue has no path of the machine", () => {
  for (const game of ["/home/ann/week/glass.ts", "C:\\Users\\ann\\glass.ts", "glass.ts"])
    expect(issueText(THROWN, { ...RUN, game })).toContain("- game `glass.ts`, run");
  expect(issueText(THROWN, { ...RUN, game: "my/glass.ts" })).toContain("- game `my/glass.ts`, run");
});

describe("a notice", () => {
  it("is no fault, and neither is a check's advice (N13)", () => {
    const advice = { ...THROWN, kind: "check", severity: "warning" as const };
    const all = [THROWN, { ...THROWN, kind: "check" }, { ...THROWN, kind: "quarantine" }, advice];
    expect(all.map(isNotice)).toEqual([false, false, true, true]);
  });
});
