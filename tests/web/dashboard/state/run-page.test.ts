/** What a run's page says beside its charts: the slider of versions, news, the tab's title, the log, lessons, who plays whom. */

import { lessonMarks, lessonNames } from "@attract/dashboard/state/lessons";
import type { EvaluationView, Finding, LogEntry, VersionView } from "@attract/schema";
import { describe, expect, it, test } from "vitest";
import { clockOf, entriesFound, textOfLog } from "../../../../web/dashboard/src/state/log-text.ts";
import { newsOf } from "../../../../web/dashboard/src/state/run-news.ts";
import { modelFileOf, policyIdsOf, seatsOf } from "../../../../web/dashboard/src/state/seats.ts";
import { iconOf, titleOf, toneOf } from "../../../../web/dashboard/src/state/tab-title.ts";
import {
  domainOf,
  placedVersions,
  placeIn,
  placeOn,
  shareOf,
  standingAt,
  versionAt,
  versionByKey,
  versionText,
} from "../../../../web/dashboard/src/state/versions.ts";

function version(policy_version: number, changes: Partial<VersionView> = {}): VersionView {
  return {
    policy_version,
    update: policy_version,
    agent_steps: 100 * policy_version,
    // Slower and slower: another place on the axis of time.
    seconds: policy_version ** 2,
    return_mean: policy_version,
    evaluations: [],
    best: false,
    exported: false,
    newest: false,
    ...changes,
  };
}

const VERSIONS = [0, 1, 2, 4, 8, 9, 10].map((number) => version(number));
/** The curve begins at version 1: at 0 no episode had ended. */
const CURVE = {
  name: "r",
  steps: [100, 500, 1000],
  updates: [1, 5, 10],
  episodes: [10, 20, 40],
  seconds: [1, 25, 100],
  clock: [1001, 1025, 1100],
  values: [1, 2, 3],
  low: null,
  high: null,
};
const DOMAIN = { min: 100, max: 1000 };

describe("the domain of the versions' slider", () => {
  it("is the chart's, on either axis", () => {
    expect(domainOf(VERSIONS, CURVE, "steps")).toEqual(DOMAIN);
    expect(domainOf(VERSIONS, CURVE, "time")).toEqual({ min: 1, max: 100 });
  });

  it("is the versions' own without a curve", () => {
    expect(domainOf(VERSIONS, undefined, "steps")).toEqual({ min: 0, max: 1000 });
    expect(domainOf(VERSIONS, CURVE, "steps", [300, 400])).toEqual({ min: 300, max: 400 });
    expect(domainOf([], undefined, "steps")).toEqual({ min: 0, max: 0 });
  });

  it("holds versions beyond its ends at them", () => {
    expect(placeIn(DOMAIN, version(0), "steps")).toBe(100);
    expect(placeIn(DOMAIN, version(50), "steps")).toBe(1000);
    expect(shareOf(DOMAIN, version(0), "steps")).toBe(0);
    // (550 - 100) / 900
    expect(shareOf(DOMAIN, version(5.5), "steps")).toBe(0.5);
    expect(shareOf({ min: 3, max: 3 }, version(0), "steps")).toBe(1);
  });
});

describe("dragging the slider", () => {
  it.each([
    [100, 0],
    [101, 1],
    [149, 1],
    [151, 2],
    [590, 4],
    [610, 8],
    [949, 9],
    [951, null],
    [1000, null],
  ])("at %d steps it is version %j", (place, expected) => {
    expect(versionAt(VERSIONS, DOMAIN, place, "steps")).toBe(expected);
  });

  it("has a version on every axis: those that the server does not know by the curve", () => {
    // Version 9 is at 900 of 500 to 1000 steps: 0.8 of the way from 20 to 40 episodes, and from 1025 to 1100.
    const [placed] = placedVersions([version(9)], CURVE);
    const axes = ["steps", "updates", "episodes", "time", "clock"] as const;
    expect(axes.map((axis) => placeOn(placed, axis))).toEqual([900, 9, 36, 81, 1085]);
    expect(placeOn(placedVersions([version(9)], undefined)[0], "clock")).toBe(0);
  });

  it("goes by the axis that is shown", () => {
    // 40 s lies between version 4 (16 s) and 8 (64 s); 41 is nearer to 8.
    expect(versionAt(VERSIONS, { min: 1, max: 100 }, 39, "time")).toBe(4);
    expect(versionAt(VERSIONS, { min: 1, max: 100 }, 41, "time")).toBe(8);
  });

  it("reaches every version, whatever their number", () => {
    const many = Array.from({ length: 60 }, (_, i) => version(i));
    const domain = { min: 100, max: 5900 };
    const reached = new Set<number | null>();
    for (let place = 100; place <= 5900; place += 1) reached.add(versionAt(many, domain, place, "steps"));
    expect(reached).toEqual(new Set([...Array.from({ length: 59 }, (_, i) => i), null]));
  });
});

describe("keys of the slider", () => {
  it.each<[string, number | null, number | null | undefined]>([
    ["ArrowLeft", null, 9],
    ["ArrowLeft", 9, 8],
    ["ArrowDown", 8, 4],
    ["ArrowLeft", 0, 0],
    ["ArrowRight", 4, 8],
    ["ArrowUp", 9, null],
    ["ArrowRight", null, null],
    ["PageDown", null, 1],
    ["PageUp", 0, 9],
    ["PageUp", 4, null],
    ["Home", null, 0],
    ["End", 0, null],
    ["a", 4, undefined],
    ["Tab", 4, undefined],
  ])("%s from %j moves to %j", (key, from, to) => {
    expect(versionByKey(VERSIONS, from, key)).toBe(to);
  });

  it("go on from where a version was that is gone", () => {
    expect(versionByKey(VERSIONS, 6, "ArrowLeft")).toBe(4);
    expect(versionByKey(VERSIONS, 6, "ArrowRight")).toBe(8);
    expect(standingAt(VERSIONS, 6)?.policy_version).toBe(4);
  });

  it("do nothing without versions", () => {
    expect(versionByKey([], null, "ArrowLeft")).toBeUndefined();
  });
});

describe("words of the slider", () => {
  it("say version, steps and return then", () => {
    expect(versionText(VERSIONS, 8)).toBe("Version 8, 800 steps, return 8");
    expect(versionText(VERSIONS, null)).toBe("Newest version 10, 1,000 steps, return 10");
    expect(versionText([version(3, { return_mean: null })], null)).toBe("Newest version 3, 300 steps");
  });

  it("N22: say of the newest, while the run goes on, what the page's other numbers say", () => {
    const run = { policy_version: 20, agent_steps: 2000, episode_return_mean: 5.28 };
    expect(versionText(VERSIONS, null, run)).toBe("Newest version 20, 2,000 steps, return 5.28");
    expect(versionText(VERSIONS, 8, run)).toBe("Version 8, 800 steps, return 8");
  });

  it("say evaluations and marks", () => {
    const evaluations = [
      { deterministic: true, return_mean: 9.5, return_std: 1 },
      { deterministic: false, return_mean: 7, return_std: null },
    ];
    const known = [version(3, { best: true, exported: true, evaluations }), version(4)];
    expect(versionText(known, 3)).toBe(
      "Version 3, 300 steps, return 3, evaluated 9.50, evaluated with sampled actions 7, best, exported",
    );
  });

  it("say of a version that it is gone", () => {
    expect(versionText(VERSIONS, 6)).toBe("Version 6, which is not there any more");
  });

  it("name the newest as it grows", () => {
    expect(standingAt([...VERSIONS, version(11)], null)?.policy_version).toBe(11);
  });
});

const NEWS_RUN = {
  state: "running" as const,
  title: "CartPole",
  game: "cartpole",
  episode_return_mean: 482.3,
  goal: 475,
  goal_reached: false,
  error: null,
  findings: [] as Finding[],
};
const FINDING: Finding = {
  finding_id: "reward-constant",
  kind: "learning",
  text: "every reward is 0",
  value: 0,
  advice: "reward something",
  setting: null,
  first_update: 3,
  first_agent_steps: 5,
  withdrawn: false,
};

it("a run that is first seen is no news, whatever its state", () => {
  expect(newsOf(null, { ...NEWS_RUN, state: "failed", findings: [FINDING] })).toEqual([]);
});

it("the end is news once", () => {
  const over = { ...NEWS_RUN, state: "stopped" as const };
  expect(newsOf(NEWS_RUN, over)).toEqual([{ title: "CartPole is stopped", text: "Return 482" }]);
  expect(newsOf(over, over)).toEqual([]);
  expect(newsOf(NEWS_RUN, { ...NEWS_RUN, state: "paused" })).toEqual([]);
});

it("an end has its goal, or its error", () => {
  expect(newsOf(NEWS_RUN, { ...NEWS_RUN, state: "finished", goal_reached: true })).toEqual([
    { title: "CartPole is solved", text: "Return 482, goal 475" },
  ]);
  expect(newsOf(NEWS_RUN, { ...NEWS_RUN, state: "failed", error: "the learner died" })).toEqual([
    { title: "CartPole failed", text: "the learner died" },
  ]);
});

it("a finding about learning is news, one about speed is not, and neither the second time", () => {
  const slow = { ...FINDING, finding_id: "slow", kind: "speed" as const };
  expect(newsOf(NEWS_RUN, { ...NEWS_RUN, findings: [slow] })).toEqual([]);
  const stuck = { ...NEWS_RUN, findings: [FINDING, slow] };
  expect(newsOf(NEWS_RUN, stuck).map(({ title }) => title)).toEqual(["CartPole does not learn"]);
  expect(newsOf(stuck, stuck)).toEqual([]);
});

const TITLED = {
  state: "running" as const,
  title: "CartPole",
  game: "cartpole",
  episode_return_mean: 482.3,
  goal_reached: false,
  evaluation: null,
};
const EVALUATION: EvaluationView = {
  policy_version: 3,
  episodes: 100,
  return_mean: 499.9,
  return_std: 0.1,
  length_mean: 500,
  deterministic: true,
  confirmed: true,
  agent_return_means: [],
  returns: [],
};

describe("titleOf", () => {
  it("has the return, the state and the game", () => {
    expect(titleOf(TITLED, false)).toBe("482 · Training · CartPole");
    expect(titleOf(TITLED, false, "hero")).toBe("482 · Training · hero");
  });

  it("has no return before the first episode, and the game's name where it has no title", () => {
    const young = { ...TITLED, state: "starting" as const, episode_return_mean: null, title: "" };
    expect(titleOf(young, false)).toBe("Starting · cartpole");
  });

  it("says that nobody plays", () => {
    expect(titleOf(TITLED, true)).toBe("482 · Waiting · CartPole");
    expect(toneOf(TITLED, true)).toBe("wait");
  });

  it("of a run that reached its goal has the return that confirmed it", () => {
    const solved = { ...TITLED, state: "finished" as const, goal_reached: true, evaluation: EVALUATION };
    expect(titleOf(solved, false)).toBe("500 · Solved · CartPole");
    expect(titleOf({ ...solved, goal_reached: false }, false)).toBe("482 · Finished · CartPole");
    expect(toneOf(solved, false)).toBe("done");
  });
});

it("each tone has an icon of its own", () => {
  const icons = (["go", "wait", "bad", "done", "none"] as const).map(iconOf);
  expect(new Set(icons).size).toBe(5);
  for (const icon of icons) expect(icon).toMatch(/^data:image\/svg\+xml,%3Csvg/);
});

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

function series(values: number[]) {
  const steps = values.map((_, i) => 100 * (i + 1));
  return { name: "curriculum/lesson", steps, values, low: values, high: values };
}

describe("lesson marks", () => {
  test("stand where the lesson changed, forward or back, the first where the run began", () => {
    expect(lessonMarks(series([1, 1, 2, 2, 1, 3]), ["small", "medium", "large"])).toEqual([
      { steps: 100, name: "small" },
      { steps: 300, name: "medium" },
      { steps: 500, name: "small" },
      { steps: 600, name: "large" },
    ]);
  });

  test("a point that stands for two lessons counts as the later one", () => {
    expect(lessonMarks(series([1, 1.5, 2]), ["small", "medium"]).map((mark) => mark.steps)).toEqual([
      100, 200,
    ]);
  });

  test("without lessons there are none; a lesson without a name has its number", () => {
    expect(lessonMarks(undefined, [])).toEqual([]);
    expect(lessonMarks(series([2]), ["small"])[0].name).toBe("lesson 2");
  });

  test("names come from the run's settings", () => {
    const settings = { curriculum: { lessons: [{ name: "small" }, { name: "large" }] } };
    expect(lessonNames({ settings })).toEqual(["small", "large"]);
    expect(lessonNames({ settings: {} })).toEqual([]);
  });
});

describe("seatsOf", () => {
  it("is empty where one policy plays all", () => {
    expect(seatsOf({ settings: { collection: { seats: ["scout", "keeper"] } } })).toEqual([
      "scout",
      "keeper",
    ]);
    expect(seatsOf({ settings: { collection: {} } })).toEqual([]);
    expect(seatsOf({ settings: {} })).toEqual([]);
  });
});

describe("policyIdsOf", () => {
  it("names each policy once, and a sole one not at all", () => {
    expect(policyIdsOf(["scout", "keeper", "scout"])).toEqual(["scout", "keeper"]);
    expect(policyIdsOf(["scout", "scout"])).toEqual([null]);
    expect(policyIdsOf([])).toEqual([null]);
  });
});

describe("modelFileOf", () => {
  it("is the name that policy.json has for it", () => {
    expect([null, "scout"].map(modelFileOf)).toEqual(["policy.onnx", "scout.onnx"]);
  });
});
