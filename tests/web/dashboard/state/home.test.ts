import type { GameEntry, RunRow } from "@attract/schema";
import { expect, test } from "vitest";
import { bestRun, newestRuns, showpiece } from "../../../../web/dashboard/src/state/home.ts";

const run = (run_id: string, rest: Partial<RunRow> = {}) =>
  ({
    run_id,
    game: "snake",
    state: "finished",
    created: `2026-01-0${run_id}`,
    updates: 5,
    policy_version: 5,
    episode_return_mean: 1,
    ...rest,
  }) as RunRow;

test("the newest runs come first; those that never had an update are left out unless they go on", () => {
  const runs = [
    run("1"),
    run("4", { updates: 0, state: "stopped" }),
    run("3", { updates: 0, state: "starting" }),
    run("2", { game: "lander" }),
  ];
  expect(newestRuns(runs, 5).map((one) => one.run_id)).toEqual(["3", "2", "1"]);
  expect(newestRuns(runs, 1).map((one) => one.run_id)).toEqual(["3"]);
  expect(newestRuns(runs, 5, "lander").map((one) => one.run_id)).toEqual(["2"]);
});

test("the best run of a game has the highest return and a policy", () => {
  const runs = [
    run("1", { episode_return_mean: null }),
    run("2", { episode_return_mean: -3 }),
    run("3", { episode_return_mean: 9, policy_version: 0 }),
    run("4", { episode_return_mean: 9, game: "lander" }),
    run("5", { episode_return_mean: 9, state: "damaged" }),
  ];
  expect(bestRun(runs, "snake")?.run_id).toBe("2");
  expect(bestRun(runs.slice(0, 1), "snake")?.run_id).toBe("1");
  expect(bestRun(runs, "moles")).toBeNull();
});

test("a first visitor is shown Lander, else any game with a trained agent", () => {
  const game = (name: string, trained_return: number | null, error: string | null = null) =>
    ({ name, error, card: { about: "", trained_return } }) as GameEntry;
  expect(showpiece([game("snake", 1), game("lander", 1)])?.name).toBe("lander");
  expect(showpiece([game("lander", null), game("moles", 1, "broken"), game("snake", 1)])?.name).toBe("snake");
  expect(showpiece([{ ...game("mine", null), card: null }])).toBeNull();
});
