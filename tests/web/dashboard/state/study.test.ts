/** What a study's page says of its trials. */

import type { StudyTrial, StudyView } from "@attract/schema";
import { describe, expect, it } from "vitest";
import {
  confirmationText,
  frontLines,
  orderedTrials,
  outcomeText,
  pointsOf,
  searchedSettings,
  sortedTrials,
} from "../../../../web/dashboard/src/state/study.ts";

const trial = (number: number, changes: Partial<StudyTrial> = {}): StudyTrial => ({
  number,
  state: "finished",
  settings: { "ppo.gamma": 0.9, "policy.hidden_sizes": [64, 64], "ppo.gae_lambda": null },
  score: number,
  seconds: 10 - number,
  agent_steps: 100,
  on_front: false,
  error: null,
  ...changes,
});

const study = (changes: Partial<StudyView>): StudyView => ({
  study: "s",
  game: "snake",
  state: "searching",
  total_steps: 100,
  goal: null,
  num_trials: 8,
  parallel: 1,
  elapsed_seconds: 1,
  trials: [trial(0), trial(1, { state: "running" })],
  confirmations: [],
  winner: null,
  winner_yaml: null,
  file: null,
  command: "",
  error: null,
  ...changes,
});

describe("a study", () => {
  it("has a point for each finished trial with a score, the quickest first", () => {
    const trials = [trial(1), trial(2), trial(3, { state: "pruned" }), trial(4, { score: null })];
    expect(pointsOf(trials).map(({ number }) => number)).toEqual([2, 1]);
  });

  it("draws the front as a line and each other trial as a dot", () => {
    const colors = { lines: ["red", "blue", "green"], text: "grey" };
    const at = (number: number, seconds: number, isOnFront = false) =>
      trial(number, { seconds, on_front: isOnFront });
    const trials = [at(0, 9), at(1, 2, true), at(2, 5, true), at(3, 7), at(4, 7), at(5, 8)];
    const lines = frontLines(pointsOf(trials), 2, colors);
    expect(lines.map(({ id, color, isScatter, values }) => [id, color, isScatter, values])).toEqual([
      ["front", "red", false, [1, 2]],
      ["trials", "grey", true, [3, 4, 5]],
      ["defaults", "blue", true, [0]],
      ["winner", "green", true, [2]],
    ]);
    const [front, others, defaults] = lines;
    expect(defaults.nameAt?.(9)).toBe("The defaults in 9 s, score");
    expect(front.nameAt?.(5)).toBe("Best for its time: trial 2 in 5 s, score");
    expect(front.nameAt?.(6)).toBe("Best for its time");
    // Two of equal length are two points.
    expect(others.x[0]).toBe(7);
    expect(others.x[1]).toBeGreaterThan(7);
    expect(others.x[1]).toBeCloseTo(7, 6);
    expect(others.nameAt?.(others.x[1])).toContain("trial 4");
    expect(frontLines([], null, colors)).toEqual([]);
  });

  it("lists what runs first, then the best, then what was ended early and what failed", () => {
    const trials = [
      trial(1),
      trial(9, { state: "pruned" }),
      trial(2),
      trial(3, { state: "failed", score: null }),
      trial(4, { state: "running", score: null }),
      trial(5, { score: null }),
    ];
    expect(sortedTrials(trials).map(({ number }) => number)).toEqual([4, 2, 1, 5, 9, 3]);
  });

  it("has a column for each setting that some trial has", () => {
    const other = trial(2, { settings: { "ppo.gamma": 0.8, "ppo.n_epochs": 3 } });
    expect(searchedSettings([trial(1), other])).toEqual([
      "ppo.gamma",
      "policy.hidden_sizes",
      "ppo.gae_lambda",
      "ppo.n_epochs",
    ]);
  });

  it.each([
    ["", [3, 1, 2]],
    ["trial", [1, 2, 3]],
    ["-score", [3, 1, 2]],
    ["score", [1, 3, 2]],
    ["seconds", [3, 2, 1]],
    ["-ppo.gamma", [1, 3, 2]],
    ["policy.activation", [2, 1, 3]],
  ])("is sorted by %s, trials without a value last", (sort, order) => {
    const trials = [
      trial(1, { settings: { "ppo.gamma": 0.9, "policy.activation": "tanh" } }),
      trial(2, { score: null, settings: { "ppo.gamma": null, "policy.activation": "relu" } }),
      trial(3, { settings: { "ppo.gamma": 0.5 } }),
    ];
    expect(orderedTrials(trials, sort).map(({ number }) => number)).toEqual(order);
    expect(trials.map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  it("says who was confirmed and what came of it", () => {
    const row = { trial: 2, seeds: [1, 2], scores: [3, 4], seconds: [5, 6], verdict: null, chance: null };
    expect(confirmationText({ ...row, verdict: "better" })).toBe(
      "Trial 2, 2 fresh seeds: score 3.50, 5.50 s: better",
    );
    expect(confirmationText({ ...row, trial: 0, seeds: [1], scores: [3], seconds: [5] })).toBe(
      "The defaults, 1 fresh seed: score 3, 5 s",
    );
    expect(confirmationText({ ...row, seeds: [], scores: [], seconds: [] })).toBe("Trial 2: not run yet");
  });

  it.each([
    [{}, "1 of 8 trials have finished."],
    [{ state: "stopped" }, "Stopped after 1 of 8 trials. Run the same command to continue."],
    [{ state: "finished" }, "No trial was better than the defaults on fresh seeds."],
    [{ state: "finished", winner: 3 }, "Trial 3 was better than the defaults on fresh seeds."],
  ] as [Partial<StudyView>, string][])("says what it has come to: %o", (changes, text) => {
    expect(outcomeText(study(changes))).toBe(text);
  });
});
