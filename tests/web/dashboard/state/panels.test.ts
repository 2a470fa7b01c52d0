/** Which charts there are for which metrics, and which lines stand in each. */

import type { MetricDefinitions, MetricInfo } from "@attract/schema";
import { describe, expect, it } from "vitest";
import { panelGroups, panelOfMetric, shownGroups } from "../../../../web/dashboard/src/state/panels.ts";

const info = (name: string, group: string, title: string, changes: Partial<MetricInfo> = {}): MetricInfo => ({
  name,
  group,
  title,
  help: `What ${title} is.`,
  unit: "",
  better: null,
  is_log: false,
  is_shown: true,
  chart: null,
  line: "",
  ...changes,
});

const DEFINITIONS: MetricDefinitions = {
  groups: [
    { id: "score", title: "Score", is_open: true },
    { id: "learning", title: "Learning", is_open: true },
    { id: "terms", title: "Reward terms", is_open: false },
    { id: "game", title: "Game", is_open: false },
    { id: "other", title: "Other", is_open: false },
  ],
  families: [
    { name: "reward", help: "A term.", group: "terms", chart_title: "Reward terms" },
    { name: "game", help: "Of the game.", group: "game", chart_title: null },
  ],
  metrics: [
    info("rollout/ep_rew_mean", "score", "Return", { line: "training", better: "higher", unit: "reward" }),
    info("eval/mean_reward", "score", "Evaluation return", {
      chart: "rollout/ep_rew_mean",
      line: "evaluation",
    }),
    info("train/entropy", "learning", "Entropy"),
    info("train/entropy_loss", "learning", "Entropy loss", { is_shown: false }),
    info("train/grad_norm", "learning", "Gradient norm", { is_log: true }),
  ],
};

const shape = (names: string[]) =>
  panelGroups(DEFINITIONS, names).map(({ title, panels }) => [
    title,
    panels.map((panel) => [panel.id, panel.title, panel.lines.map(({ name }) => name)]),
  ]);

describe("panelGroups", () => {
  it("has the return even before there is a value", () => {
    expect(shape([])).toEqual([["Score", [["rollout/ep_rew_mean", "Return", []]]]]);
  });

  it("puts lines that belong together into one chart", () => {
    expect(
      shape([
        "eval/mean_reward",
        "rollout/ep_rew_mean",
        "rollout/ep_rew_mean/agent_10",
        "rollout/ep_rew_mean/agent_2",
      ]),
    ).toEqual([
      ["Score", [["rollout/ep_rew_mean", "Return", ["training", "agent 2", "agent 10", "evaluation"]]]],
    ]);
  });

  it("has a chart with a line for each of several policies", () => {
    expect(shape(["train/entropy/scout", "train/entropy/keeper", "train/entropy_loss/scout"])).toEqual([
      ["Score", [["rollout/ep_rew_mean", "Return", []]]],
      ["Learning", [["train/entropy", "Entropy", ["keeper", "scout"]]]],
    ]);
  });

  it("has one chart for all terms of the reward, and one for each number of the game", () => {
    expect(shape(["reward/food", "reward/time_left", "game/score_now", "mine/own"])).toEqual([
      ["Score", [["rollout/ep_rew_mean", "Return", []]]],
      ["Reward terms", [["reward", "Reward terms", ["food", "time left"]]]],
      ["Game", [["game/score_now", "Score now", ["score now"]]]],
      ["Other", [["mine/own", "Own", ["own"]]]],
    ]);
  });

  it("says of each what it is, and which direction is good", () => {
    const panels = panelGroups(DEFINITIONS, [
      "rollout/ep_rew_mean",
      "game/x",
      "mine/own",
      "train/grad_norm",
    ]).flatMap((group) => group.panels);
    expect(Object.fromEntries(panels.map(({ id, help }) => [id, help]))).toEqual({
      "rollout/ep_rew_mean": "What Return is. Higher is better.",
      "game/x": "Of the game.",
      "mine/own": "Own, as the run recorded it.",
      "train/grad_norm": "What Gradient norm is.",
    });
    expect(panels.filter(({ isLog }) => isLog).map(({ id }) => id)).toEqual(["train/grad_norm"]);
  });
});

describe("shownGroups", () => {
  const groups = panelGroups(DEFINITIONS, ["train/entropy/scout", "reward/food", "game/x"]);
  const ids = (pinned: string[], find: string) =>
    shownGroups(groups, pinned, find).map(({ id, panels }) => [id, panels.map((panel) => panel.id)]);

  it("has pinned charts first, in the order in which they were pinned, and once", () => {
    expect(ids(["reward", "gone", "train/entropy"], "")).toEqual([
      ["pinned", ["reward", "train/entropy"]],
      ["score", ["rollout/ep_rew_mean"]],
      ["game", ["game/x"]],
    ]);
  });

  it("finds by title, name, line and group, every word", () => {
    expect(ids([], "ENTROPY")).toEqual([["learning", ["train/entropy"]]]);
    expect(ids([], "scout")).toEqual([["learning", ["train/entropy"]]]);
    expect(ids([], "terms food")).toEqual([["terms", ["reward"]]]);
    expect(ids([], "terms scout")).toEqual([]);
    expect(ids(["game/x"], "game")).toEqual([["pinned", ["game/x"]]]);
  });
});

describe("panelOfMetric", () => {
  it("is a chart of that metric alone", () => {
    const panel = panelOfMetric(DEFINITIONS, "train/entropy/scout");
    expect([panel.title, panel.lines]).toEqual([
      "Entropy: scout",
      [{ metric: "train/entropy/scout", name: "Entropy: scout", role: "main" }],
    ]);
  });
});
