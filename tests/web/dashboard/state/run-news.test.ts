/** What a person is told of a run that they do not look at. */

import type { Finding } from "@attract/schema";
import { expect, it } from "vitest";
import { newsOf } from "../../../../web/dashboard/src/state/run-news.ts";

const RUN = {
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
  expect(newsOf(null, { ...RUN, state: "failed", findings: [FINDING] })).toEqual([]);
});

it("the end is news once", () => {
  const over = { ...RUN, state: "stopped" as const };
  expect(newsOf(RUN, over)).toEqual([{ title: "CartPole is stopped", text: "Return 482" }]);
  expect(newsOf(over, over)).toEqual([]);
  expect(newsOf(RUN, { ...RUN, state: "paused" })).toEqual([]);
});

it("an end has its goal, or its error", () => {
  expect(newsOf(RUN, { ...RUN, state: "finished", goal_reached: true })).toEqual([
    { title: "CartPole is solved", text: "Return 482, goal 475" },
  ]);
  expect(newsOf(RUN, { ...RUN, state: "failed", error: "the learner died" })).toEqual([
    { title: "CartPole failed", text: "the learner died" },
  ]);
});

it("a finding about learning is news, one about speed is not, and neither the second time", () => {
  const slow = { ...FINDING, finding_id: "slow", kind: "speed" as const };
  expect(newsOf(RUN, { ...RUN, findings: [slow] })).toEqual([]);
  const stuck = { ...RUN, findings: [FINDING, slow] };
  expect(newsOf(RUN, stuck).map(({ title }) => title)).toEqual(["CartPole does not learn"]);
  expect(newsOf(stuck, stuck)).toEqual([]);
});
