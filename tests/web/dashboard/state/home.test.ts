import type { GameEntry, RunRow } from "@attract/schema";
import { expect, test } from "vitest";
import { bestRun, isFirstVisit, showpiece } from "../../../../web/dashboard/src/state/home.ts";

const run = (run_id: string, rest: Partial<RunRow> = {}) =>
  ({
    run_id,
    state: "finished",
    policy_version: 5,
    episode_return_mean: 1,
    ...rest,
  }) as RunRow;

test("without a run it is a first visit, unless some were not read yet or one goes on", () => {
  const list = {
    runs: [],
    num_found: 0,
    num_hidden: 0,
    num_unread: 0,
    next: null,
    settings: [],
    metrics: [],
  };
  expect(isFirstVisit(list, null)).toBe(true);
  expect(isFirstVisit({ ...list, num_unread: 3000 }, null)).toBe(false);
  expect(isFirstVisit({ ...list, num_found: 1 }, null)).toBe(false);
  expect(isFirstVisit(list, "now")).toBe(false);
});

test("the best run has the highest return and a policy", () => {
  const runs = [
    run("1", { episode_return_mean: null }),
    run("2", { episode_return_mean: -3 }),
    run("3", { episode_return_mean: 9, policy_version: 0 }),
    run("5", { episode_return_mean: 9, state: "damaged" }),
  ];
  expect(bestRun(runs)?.run_id).toBe("2");
  expect(bestRun(runs.slice(0, 1))?.run_id).toBe("1");
  expect(bestRun([])).toBeNull();
});

test("a first visitor is shown Lander, else any game with a trained agent", () => {
  const game = (name: string, trained_return: number | null, error: string | null = null) =>
    ({ name, error, card: { about: "", trained_return } }) as GameEntry;
  expect(showpiece([game("snake", 1), game("lander", 1)])?.name).toBe("lander");
  expect(showpiece([game("lander", null), game("moles", 1, "broken"), game("snake", 1)])?.name).toBe("snake");
  expect(showpiece([{ ...game("mine", null), card: null }])).toBeNull();
});
