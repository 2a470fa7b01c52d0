/** What a browser's tab says of a run. */

import type { EvaluationView } from "@attract/schema";
import { describe, expect, it } from "vitest";
import { iconOf, titleOf, toneOf } from "../../../../web/dashboard/src/state/tab-title.ts";

const RUN = {
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
    expect(titleOf(RUN, false)).toBe("482 · Training · CartPole");
    expect(titleOf(RUN, false, "hero")).toBe("482 · Training · hero");
  });

  it("has no return before the first episode, and the game's name where it has no title", () => {
    const young = { ...RUN, state: "starting" as const, episode_return_mean: null, title: "" };
    expect(titleOf(young, false)).toBe("Starting · cartpole");
  });

  it("says that nobody plays", () => {
    expect(titleOf(RUN, true)).toBe("482 · Waiting · CartPole");
    expect(toneOf(RUN, true)).toBe("wait");
  });

  it("of a run that reached its goal has the return that confirmed it", () => {
    const solved = { ...RUN, state: "finished" as const, goal_reached: true, evaluation: EVALUATION };
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
