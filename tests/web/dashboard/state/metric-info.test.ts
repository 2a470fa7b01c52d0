/** Which charts are drawn for which metrics. */

import { describe, expect, it } from "vitest";
import { chartGroups, titleOf } from "../../../../web/dashboard/src/state/metric-info.ts";

describe("chartGroups", () => {
  it("puts the known first and folds everything else by what it is about", () => {
    const groups = chartGroups([
      "train/entropy_loss",
      "rollout/ep_rew_mean",
      "train/entropy",
      "reward/food",
      "train/loss",
      "fleet/wait_fraction",
      "eval/mean_reward",
      "mine/own",
    ]);
    expect(
      groups.map(({ title, isOpen, charts }) => [title, isOpen, charts.map(({ title }) => title)]),
    ).toEqual([
      ["Is it getting better?", true, ["Return", "Episode length", "Steps per second"]],
      ["How is it learning?", true, ["Entropy"]],
      ["Evaluations", true, ["Evaluation return"]],
      ["Reward terms", false, ["Food"]],
      ["Learning in detail", false, ["Loss"]],
      ["Workers and devices", false, ["Workers wait"]],
      ["Other metrics", false, ["Own"]],
    ]);
  });

  it("charts each of several policies where a sole one would be", () => {
    const names = [
      "train/entropy/scout",
      "train/entropy/keeper",
      "train/entropy_loss/scout",
      "train/loss/scout",
    ];
    const groups = chartGroups([...names, "rollout/ep_rew_mean", "rollout/ep_rew_mean/agent_0"]);
    expect(groups.map(({ title, charts }) => [title, charts.map((chart) => chart.title)])).toEqual([
      ["Is it getting better?", ["Return", "Return: agent 0", "Episode length", "Steps per second"]],
      ["How is it learning?", ["Entropy: scout", "Entropy: keeper"]],
      ["Learning in detail", ["Loss: scout"]],
    ]);
    expect(groups[1].charts.map(({ name }) => name)).toEqual(["train/entropy/scout", "train/entropy/keeper"]);
    expect(groups[1].charts[0].help).toMatch(/^How random .* For scout only\.$/);
  });

  it("shows the intrinsic reward only in runs that have one", () => {
    const names = ["train/entropy", "train/exploration_bonus", "train/exploration_error"];
    expect(
      chartGroups(names).map(({ title, isOpen, charts }) => [title, isOpen, charts.map(({ name }) => name)]),
    ).toEqual([
      [
        "Is it getting better?",
        true,
        ["rollout/ep_rew_mean", "rollout/ep_len_mean", "fleet/steps_per_second"],
      ],
      ["How is it learning?", true, ["train/entropy"]],
      ["Does it still find anything new?", true, ["train/exploration_bonus", "train/exploration_error"]],
    ]);
    expect(chartGroups(["train/entropy"]).map(({ title }) => title)).not.toContain(
      "Does it still find anything new?",
    );
  });

  it("has the first group, empty, without metrics", () => {
    expect(chartGroups([]).map(({ title, charts }) => [title, charts.length])).toEqual([
      ["Is it getting better?", 3],
    ]);
  });

  it("gives no two charts one title, and explains each", () => {
    const names = [
      "time/fps",
      "fleet/steps_per_second",
      "train/policy_lag_mean",
      "train/policy_lag_max",
      "train/grad_norm",
      "rollout/episode_desynchronisation",
    ];
    const charts = chartGroups(names).flatMap((group) => group.charts);
    expect(new Set(charts.map(({ title }) => title)).size).toBe(charts.length);
    expect(charts.filter(({ help }) => help.startsWith("Recorded as"))).toEqual([]);
  });
});

describe("titleOf", () => {
  it("reads as words", () => {
    expect(titleOf("fleet/worker_latency_mean")).toBe("Rollout time");
    expect(titleOf("train/grad_norm")).toBe("Gradient norm");
  });
});
