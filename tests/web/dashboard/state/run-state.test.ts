/** What the page knows of a run, event by event: its state, its fleet, faults and notices among its reports. */

import type { EpisodeEntry, FleetChanges, FleetView, GameReport, RunView } from "@attract/schema";
import { describe, expect, it } from "vitest";
import {
  firstSeenText,
  isErrorShown,
  isNotice,
  issueText,
  whereText,
} from "../../../../web/dashboard/src/state/faults.ts";
import { changeFleet } from "../../../../web/dashboard/src/state/fleet.ts";
import {
  discardedText,
  EMPTY_RUN,
  isOver,
  lookOf,
  newestModel,
  numWorkers,
  progressText,
  reduceRun,
  speedOf,
  timeLeftText,
  updatesText,
  waitsForWorkers,
} from "../../../../web/dashboard/src/state/run-state.ts";

const RUN: RunView = {
  progress_share: null,
  remaining_seconds: null,
  run_id: "r",
  game: "cartpole",
  title: "CartPole",
  state: "running",
  created: "2026-11-21T00:00:00Z",
  seed: 0,
  policy_version: 3,
  agent_steps: 3000,
  collected_steps: 3000,
  updates: 3,
  episodes: 10,
  elapsed_seconds: 5,
  steps_per_second: 600,
  episode_return_mean: 20,
  random_play: null,
  is_elsewhere: false,
  learned: null,
  goal: null,
  total_steps: null,
  error: null,
  waiting_seconds: null,
  beginning: null,
  newest_model: 3,
  reports: [],
  findings: [],
  evaluation: null,
  goal_reached: false,
  lesson: null,
  ladder: [],
  parameters: {},
  description: null,
  game_reference: null,
  settings: {},
};

const REPORT: GameReport = {
  kind: "throw",
  name: "TypeError",
  text: "x is undefined",
  stack: null,
  host_id: null,
  worker_index: 0,
  slot_id: 5,
  instance_id: 5,
  episode: 1,
  tick: 1000,
  seed: "00000000000000ff",
  step_values: null,
  fix: null,
  rollback_to: null,
  count: 1,
  num_workers: 1,
  episode_id: null,
  fault_id: "",
  place: null,
  severity: "error",
  repeated: 0,
  worker_lost: false,
  run_error: null,
};

const row = (update: number, value: number) => ({
  update,
  agent_steps: 1000 * update,
  seconds: update,
  values: { "rollout/ep_rew_mean": value },
});

const snapshot = {
  run_id: "r",
  names: ["rollout/ep_rew_mean"],
  agent_steps: [1000, 2000],
  seconds: [1, 2],
  updates: [1, 2],
  episodes: [0, 0],
  clock: [{ seconds: 0, unix_seconds: 1000 }],
  last_steps: 2000,
  series: [{ name: "rollout/ep_rew_mean", at: null, values: [1, 2], low: null, high: null }],
};

const worker = (state: "playing" | "gone") => ({ state }) as FleetView["hosts"][0]["workers"][0];
const fleet = (...states: ("playing" | "gone")[]): FleetView => ({
  hosts: [
    { host_id: "h", tier: "local", user_agent: "", hidden: false, identity: "", workers: states.map(worker) },
  ],
  steps_per_second: 777,
  leases_open: 0,
  leases_lapsed: 0,
  blocks_refused: 0,
  num_hosts: 1,
  sockets_refused: 0,
  last_left_seconds: null,
});

describe("recorded episodes", () => {
  const entry = (id: string, starred = false) => ({ id, starred }) as EpisodeEntry;

  it("come as a list, and then one by one in front of it; one that is known takes the place of its own", () => {
    const first = reduceRun(EMPTY_RUN, { type: "episodes", entries: [entry("b"), entry("a")] });
    const more = reduceRun(first, { type: "episode", entry: entry("c") });
    expect(more.episodes.map(({ id }) => id)).toEqual(["c", "b", "a"]);
    const starred = reduceRun(more, { type: "episode", entry: entry("a", true) });
    expect(starred.episodes).toEqual([entry("c"), entry("b"), entry("a", true)]);
  });
});

describe("metrics", () => {
  it("that come before the snapshot are kept and put after it, each once", () => {
    const early = reduceRun(EMPTY_RUN, { type: "metrics", rows: [row(2, 99), row(3, 3)] });
    expect(early.series).toEqual({});
    const loaded = reduceRun(early, { type: "snapshot", metrics: snapshot });
    const live = reduceRun(loaded, { type: "metrics", rows: [row(4, 4)] });
    expect(live.series["rollout/ep_rew_mean"].values).toEqual([1, 2, 3, 4]);
  });

  it("move the headline forward, never back", () => {
    const known = reduceRun(EMPTY_RUN, { type: "run", run: RUN });
    const ahead = reduceRun(known, { type: "metrics", rows: [row(5, 44)] });
    expect(ahead.run).toMatchObject({ agent_steps: 5000, updates: 5, episode_return_mean: 44 });
    const late = reduceRun(ahead, { type: "metrics", rows: [row(2, 7)] });
    expect(late.run).toMatchObject({ agent_steps: 5000, updates: 5, episode_return_mean: 44 });
  });

  it("N22: say the same in headline and curve, also where a view is of between two updates", () => {
    const known = reduceRun(EMPTY_RUN, { type: "metrics", rows: [row(5, 44)] });
    const between = { ...RUN, agent_steps: 6000, updates: 6, episode_return_mean: 47 };
    const later = reduceRun(known, { type: "run", run: between });
    expect(later.run).toMatchObject({ agent_steps: 5000, updates: 5, episode_return_mean: 44 });
    const over = reduceRun(later, { type: "run", run: { ...between, state: "finished" } });
    expect(over.run).toMatchObject({ agent_steps: 6000, updates: 6, episode_return_mean: 47 });
  });
});

describe("reports", () => {
  it("of the same fault are one, with the higher count", () => {
    const one = reduceRun(EMPTY_RUN, { type: "report", report: REPORT });
    const two = reduceRun(one, { type: "report", report: { ...REPORT, count: 4, slot_id: 9 } });
    const three = reduceRun(two, { type: "run", run: { ...RUN, reports: [{ ...REPORT, count: 2 }] } });
    const four = reduceRun(three, { type: "report", report: { ...REPORT, text: "another" } });
    expect(four.reports.map(({ text, count }) => [text, count])).toEqual([
      ["x is undefined", 4],
      ["another", 1],
    ]);
  });
});

describe("policies", () => {
  it("an older version never replaces a newer one", () => {
    const policy = (version: number) => ({
      policy_version: version,
      agent_steps: 0,
      urls: { main: `${version}.onnx` },
    });
    const newer = reduceRun(EMPTY_RUN, { type: "policy", policy: policy(7) });
    expect(reduceRun(newer, { type: "policy", policy: policy(6) }).policy?.policy_version).toBe(7);
    expect(reduceRun(newer, { type: "policy", policy: policy(8) }).policy?.policy_version).toBe(8);
  });
});

describe("what is said of a run", () => {
  const policy = (version: number) => ({ policy_version: version, agent_steps: 0, urls: {} });

  it("has one version: the newest that was told, by whichever way", () => {
    const known = reduceRun(EMPTY_RUN, { type: "run", run: RUN });
    const reduced = reduceRun(known, { type: "policy", policy: policy(9) });
    expect(reduced.run?.policy_version).toBe(9);
    // A view that was made before the version was.
    expect(reduceRun(reduced, { type: "run", run: RUN }).run?.policy_version).toBe(9);
    expect(newestModel(reduced)).toBe(9);
  });

  it("offers no model where there is none, and of a run that is over what was exported", () => {
    expect(newestModel(EMPTY_RUN)).toBeNull();
    expect(newestModel({ run: { ...RUN, newest_model: null }, policy: null })).toBeNull();
    expect(
      newestModel({ run: { ...RUN, newest_model: null, state: "stopped" }, policy: policy(4) }),
    ).toBeNull();
    expect(newestModel({ run: { ...RUN, newest_model: 2, state: "finished" }, policy: policy(4) })).toBe(2);
  });

  it("has one speed: the fleet's, nobody's is none, and of a run that is over its mean", () => {
    expect(speedOf(RUN, fleet("playing"))).toBe(777);
    expect(speedOf(RUN, null)).toBe(600);
    expect(speedOf(RUN, fleet("gone"))).toBe(0);
    // 3,000 steps in 5 s.
    expect(speedOf({ ...RUN, state: "stopped", steps_per_second: 0 }, null)).toBe(600);
    expect(speedOf({ ...RUN, state: "failed", elapsed_seconds: 0 }, null)).toBe(0);
  });

  it("waits for workers only while it would play, and once it is known that there are none", () => {
    expect(waitsForWorkers(RUN, fleet("gone"))).toBe(true);
    expect(waitsForWorkers({ ...RUN, state: "evaluating" }, fleet())).toBe(true);
    expect(waitsForWorkers(RUN, fleet("gone", "playing"))).toBe(false);
    expect(waitsForWorkers(RUN, null)).toBe(false);
    expect(waitsForWorkers({ ...RUN, state: "paused" }, fleet())).toBe(false);
    expect([numWorkers(null), numWorkers(fleet("gone", "playing"))]).toEqual([null, 1]);
  });
});

describe("the scoreboard", () => {
  it("counts updates beside versions only where the numbers differ", () => {
    expect(updatesText({ ...RUN, policy_version: 3, updates: 3 })).toBeNull();
    expect(updatesText({ ...RUN, policy_version: 3, updates: 4 })).toBe("4");
    // Not "12.3k", as counts are shortened elsewhere: the difference is what it is shown for.
    expect(updatesText({ ...RUN, policy_version: 12_344, updates: 12_345 })).toBe("12345");
  });

  it("says in words what the fleet did in vain, and nothing of what did not happen", () => {
    const clean = { ...fleet("playing"), leases_lapsed: 0, blocks_refused: 0, sockets_refused: 0 };
    expect(discardedText(clean)).toBe("");
    expect(discardedText({ ...clean, leases_lapsed: 1, blocks_refused: 1 })).toBe(
      ", 1 task not returned in time, 1 result discarded",
    );
    expect(discardedText({ ...clean, leases_lapsed: 2, sockets_refused: 3 })).toBe(
      ", 2 tasks not returned in time, 3 connections refused",
    );
  });
});

it("lookOf has a word and a colour for what a run does, and for one that waits for workers", () => {
  expect(lookOf("evaluating")).toEqual(["Evaluating", "go"]);
  expect(lookOf("finished")).toEqual(["Finished", "done"]);
  expect(lookOf("running", true)).toEqual(["Waiting for workers", "wait"]);
});

it("the time that is left: a run with a goal may end sooner, one that is over has none", () => {
  const going = { ...RUN, remaining_seconds: 10 };
  expect(timeLeftText(going)).toBe("about 10 s left");
  expect(timeLeftText({ ...going, goal: 475 })).toBe("at most 10 s left");
  expect(timeLeftText({ ...going, remaining_seconds: null })).toBeNull();
  expect(timeLeftText({ ...going, state: "stopped" })).toBeNull();
});

describe("what the progress measures", () => {
  it("is the return on the way to a goal, whatever the steps", () => {
    expect(progressText({ ...RUN, goal: 475, episode_return_mean: 312.4, total_steps: 9000 })).toBe(
      "Return 312 of 475",
    );
    expect(progressText({ ...RUN, goal: 475, episode_return_mean: null })).toBe("Return – of 475");
  });

  it("is the steps without a goal, and nothing without either", () => {
    expect(progressText({ ...RUN, total_steps: 500_000 })).toBe("3,000 of 500k steps");
    expect(progressText(RUN)).toBeNull();
  });
});

describe("a lesson", () => {
  it("that changes is shown at once", () => {
    const lesson = {
      name: "large",
      number: 2,
      num_lessons: 2,
      agent_steps: 100,
      global_episode_index: 7,
      reason: null,
    };
    const known = reduceRun(EMPTY_RUN, { type: "run", run: RUN });
    expect(reduceRun(known, { type: "lesson", lesson }).run?.lesson).toEqual(lesson);
    expect(reduceRun(EMPTY_RUN, { type: "lesson", lesson }).run).toBeNull();
  });
});

describe("isOver", () => {
  it("is true for the three ends", () => {
    const over = (
      ["starting", "running", "paused", "evaluating", "finished", "stopped", "failed"] as const
    ).filter(isOver);
    expect(over).toEqual(["finished", "stopped", "failed"]);
  });
});

const fleetWorker = (index: number, id: number, more: object = {}) => ({
  worker_index: index,
  worker_id: id,
  state: "playing",
  ...more,
});

const FLEET = {
  steps_per_second: 10,
  num_hosts: 2,
  hosts: [
    { host_id: "a", hidden: false, workers: [fleetWorker(0, 0), fleetWorker(1, 3)] },
    { host_id: "b", hidden: false, workers: [fleetWorker(0, 1)] },
  ],
} as unknown as FleetView;

const changes = (more: Partial<FleetChanges>): FleetChanges => ({ totals: {}, hosts: [], gone: [], ...more });

describe("changeFleet", () => {
  it("keeps the identity of what did not change", () => {
    const fleet = changeFleet(FLEET, changes({ totals: { steps_per_second: 12 } }));
    expect(fleet.steps_per_second).toBe(12);
    expect(fleet.num_hosts).toBe(2);
    expect(fleet.hosts[0]).toBe(FLEET.hosts[0]);
  });

  it("changes facts, adds and removes workers of a host", () => {
    const host = {
      host_id: "a",
      facts: { hidden: true },
      workers: [
        { worker_index: 1, worker_id: 3, facts: { state: "gone" } },
        { worker_index: 0, worker_id: 7, facts: fleetWorker(0, 7) },
      ],
      gone: [[0, 0]],
    };
    const fleet = changeFleet(FLEET, changes({ hosts: [host] }));
    expect(fleet.hosts[0]).toEqual({
      host_id: "a",
      hidden: true,
      workers: [fleetWorker(1, 3, { state: "gone" }), fleetWorker(0, 7)],
    });
    expect(fleet.hosts[1]).toBe(FLEET.hosts[1]);
  });

  it("adds a host after the others, and removes one", () => {
    const facts = { host_id: "c", hidden: true };
    const host = {
      host_id: "c",
      facts,
      workers: [{ worker_index: 0, worker_id: 9, facts: fleetWorker(0, 9) }],
      gone: [],
    };
    const fleet = changeFleet(FLEET, changes({ hosts: [host], gone: ["a"] }));
    expect(fleet.hosts).toEqual([FLEET.hosts[1], { ...facts, workers: [fleetWorker(0, 9)] }]);
  });
});

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
const FAILED_RUN = { title: "Glass", game: "glass.ts", run_id: "glass-1" };

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
    expect(issueText(THROWN, FAILED_RUN)).toBe(
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
    expect(issueText(THROWN, { ...FAILED_RUN, game })).toContain("- game `glass.ts`, run");
  expect(issueText(THROWN, { ...FAILED_RUN, game: "my/glass.ts" })).toContain("- game `my/glass.ts`, run");
});

describe("a notice", () => {
  it("is no fault, and neither is a check's advice (N13)", () => {
    const advice = { ...THROWN, kind: "check", severity: "warning" as const };
    const all = [THROWN, { ...THROWN, kind: "check" }, { ...THROWN, kind: "quarantine" }, advice];
    expect(all.map(isNotice)).toEqual([false, false, true, true]);
  });
});
