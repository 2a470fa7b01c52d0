/** Which charts are drawn for which metrics. */

import { describe, expect, it } from "vitest";
import { chartGroups, titleOf } from "../../../../web/dashboard/src/state/metric-info.ts";

describe("chartGroups", () => {
  it("puts the known first and everything else under More", () => {
    const groups = chartGroups([
      "train/entropy_loss",
      "rollout/ep_rew_mean",
      "train/entropy",
      "reward/food",
      "train/loss",
    ]);
    expect(groups.map(({ title, charts }) => [title, charts.map((chart) => chart.title)])).toEqual([
      ["Is it getting better?", ["Return"]],
      ["How is it learning?", ["Entropy"]],
      ["More", ["Food", "Loss"]],
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
      ["Is it getting better?", ["Return"]],
      ["How is it learning?", ["Entropy: scout", "Entropy: keeper"]],
      ["More", ["Return: agent 0", "Loss: scout"]],
    ]);
    expect(groups[1].charts.map((chart) => chart.names)).toEqual([
      ["train/entropy/scout"],
      ["train/entropy/keeper"],
    ]);
  });

  it("has no groups without metrics", () => {
    expect(chartGroups([])).toEqual([]);
  });
});

describe("titleOf", () => {
  it("reads as words", () => {
    expect(titleOf("fleet/worker_latency_mean")).toBe("Worker latency mean");
    expect(titleOf("train/grad_norm")).toBe("Gradient norm");
  });
});
