/** Faults and notices among the reports of a run. */

import type { GameReport } from "@attract/schema";
import { describe, expect, it } from "vitest";
import {
  covers,
  faultsOf,
  firstSeenText,
  isNotice,
  issueText,
  timesText,
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
};
/** As the page, the check and the worker's host tell the same fault. */
const FIVE_TIMES: GameReport[] = [
  {
    ...THROWN,
    kind: "check",
    name: "contract",
    text: `${WORDS} (tick 5 of episode 44); action 1 ("stay")`,
    seed: null,
    step_values: null,
    fix: "mend the game",
    count: 1,
    num_workers: 0,
    episode_id: null,
  },
  THROWN,
  { ...THROWN, text: `the game failed 10 times (throw), the last time with: ${WORDS}`, count: 3, slot_id: 9 },
  {
    ...THROWN,
    kind: "crash",
    text:
      "worker 0 broke three times within a minute and is not started again; " +
      `last: the game failed 10 times (throw), the last time with: ${WORDS}`,
    count: 1,
  },
];
const RUN = { title: "Glass", game: "glass.ts", run_id: "glass-1" };

describe("one fault", () => {
  it("is one, with its count, its place and where it was first seen", () => {
    const faults = faultsOf(FIVE_TIMES);
    expect(faults).toHaveLength(1);
    expect(timesText(faults[0])).toBe("34 times in 3 workers");
    expect(faults[0]).toMatchObject({ place: "glass.ts:13:85", fix: "mend the game", endsWorkers: true });
    expect(firstSeenText(faults[0].report)).toBe(
      "worker 1, slot 0, episode 44, tick 5, seed b917c49edbc920e9",
    );
    expect(covers(faults[0], `the game failed (throw): TypeError: ${WORDS}`)).toBe(true);
    expect(covers(faults[0], "the learner ended")).toBe(false);
  });

  it("is told apart from one of another line, and of other words", () => {
    const elsewhere = { ...THROWN, stack: "    at Catch.start (glass.ts:7:2)" };
    const another = { ...THROWN, text: "update() threw: RangeError: too much" };
    expect(faultsOf([THROWN, elsewhere, another])).toHaveLength(3);
  });

  it("is the same where only a number in it differs, and came once where nothing counts it", () => {
    const slow = (seconds: number): GameReport => ({
      ...THROWN,
      kind: "hang",
      text: `silent for ${seconds} s`,
      stack: null,
      count: 1,
      num_workers: 1,
      episode_id: null,
    });
    expect(faultsOf([slow(5), slow(6.5)]).map(timesText)).toEqual(["2 times"]);
    expect(timesText(faultsOf([slow(5)])[0])).toBeNull();
  });

  it("is copied whole for an issue", () => {
    expect(issueText(faultsOf(FIVE_TIMES)[0], RUN)).toBe(
      [
        `**Glass: ${WORDS}**`,
        "",
        "- 34 times in 3 workers, glass.ts:13:85",
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

describe("a notice", () => {
  it("is no fault", () => {
    const banned = { ...THROWN, kind: "quarantine", text: "3f2a9c01@192.0.2.1 is banned" };
    expect(isNotice(banned)).toBe(true);
    expect(faultsOf([banned])).toEqual([]);
  });
});
