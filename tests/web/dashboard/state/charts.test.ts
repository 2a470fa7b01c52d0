/** Charts: their view in the address, its ranges and steps; panels, lines and words; one cursor for all. */

import type { MetricDefinitions, MetricInfo } from "@attract/schema";
import { describe, expect, it } from "vitest";
import { ChartCursor, type CursorPlace } from "../../../../web/dashboard/src/state/chart-cursor.ts";
import {
  formatClock,
  formatClockTicks,
  formatPlace,
  plotText,
} from "../../../../web/dashboard/src/state/chart-text.ts";
import {
  type ChartView,
  chartViewIn,
  putChartView,
  resolveRange,
  stepRange,
  toggled,
  zoomedTo,
} from "../../../../web/dashboard/src/state/chart-view.ts";
import {
  type Panel,
  panelGroups,
  panelOfMetric,
  shownGroups,
} from "../../../../web/dashboard/src/state/panels.ts";
import { type ChartRun, panelLines } from "../../../../web/dashboard/src/state/run-lines.ts";
import type { Series } from "../../../../web/dashboard/src/state/series.ts";
import { PLAIN_VIEW } from "../../../support/plain-view.ts";

const VIEWS: [string, Partial<ChartView>][] = [
  ["", {}],
  ["x=clock", { axis: "clock" }],
  ["from=-2.5&to=1000", { range: { from: -2.5, to: 1000 } }],
  ["x=time&last=60", { axis: "time", range: { last: 60 } }],
  ["smooth=0.6&cut=1", { smooth: 0.6, isCut: true }],
  [
    "log=train%2Floss&pin=train%2Floss%2Creward&fold=time&find=kl+x&chart=reward",
    {
      log: ["train/loss"],
      pinned: ["train/loss", "reward"],
      folded: ["time"],
      find: "kl x",
      large: "reward",
    },
  ],
];

describe("the address", () => {
  it.each(VIEWS)("%s is read and written alike", (query, changes) => {
    const view = { ...PLAIN_VIEW, ...changes };
    expect(chartViewIn(new URLSearchParams(query))).toEqual(view);
    const search = new URLSearchParams();
    putChartView(search, view);
    expect(search.toString()).toBe(query);
  });

  it.each(["x=miles", "from=5", "from=5&to=5", "from=a&to=9", "last=0", "last=-3", "smooth=x", "cut=yes"])(
    "%s is as usual",
    (query) => {
      expect(chartViewIn(new URLSearchParams(query))).toEqual(PLAIN_VIEW);
    },
  );

  it("keeps smoothing within its bounds", () => {
    expect(chartViewIn(new URLSearchParams("smooth=7")).smooth).toBe(0.99);
    expect(chartViewIn(new URLSearchParams("smooth=-7")).smooth).toBe(0);
  });
});

describe("ranges", () => {
  it("follow the newest point, or stay", () => {
    expect(resolveRange(null, 0, 100)).toBeNull();
    expect(resolveRange({ from: 10, to: 20 }, 0, 100)).toEqual([10, 20]);
    expect(resolveRange({ last: 30 }, 0, 100)).toEqual([70, 100]);
    expect(resolveRange({ last: 30 }, 0, 120)).toEqual([90, 120]);
    expect(resolveRange({ last: 300 }, 0, 100)).toBeNull();
    expect(resolveRange({ last: 30 }, 80, 100)).toBeNull();
  });

  it("step by half their width and stay on the axis", () => {
    expect(stepRange([40, 60], "in", 0, 100)).toEqual({ from: 45, to: 55 });
    expect(stepRange([40, 60], "out", 0, 100)).toEqual({ from: 30, to: 70 });
    expect(stepRange([0, 100], "out", 0, 100)).toBeNull();
    expect(stepRange([40, 60], 1, 0, 100)).toEqual({ from: 50, to: 70 });
    expect(stepRange([85, 95], 1, 0, 100)).toEqual({ from: 90, to: 100 });
    expect(stepRange([5, 25], -1, 0, 100)).toEqual({ from: 0, to: 20 });
  });

  it("are not empty", () => {
    const zoomed = zoomedTo(PLAIN_VIEW, [1, 2]);
    expect(zoomed.range).toEqual({ from: 1, to: 2 });
    expect(zoomedTo(zoomed, [2, 2])).toBe(zoomed);
    expect(zoomedTo(zoomed, null).range).toBeNull();
  });
});

describe("toggled", () => {
  it("adds and takes away", () => {
    expect(toggled(["a"], "b")).toEqual(["a", "b"]);
    expect(toggled(["a", "b"], "a")).toEqual(["b"]);
  });
});

it("tells every chart where it is, until a chart listens no more", () => {
  const cursor = new ChartCursor();
  const heard: (CursorPlace | null)[][] = [[], []];
  const stops = heard.map((list) => cursor.listen((place) => list.push(place)));
  const place = { x: 5, chart: "a", by: "keys" } as const;
  cursor.set(null);
  cursor.set(place);
  stops[1]();
  cursor.set(null);
  expect(heard).toEqual([[place, null], [place]]);
  expect(cursor.current).toBeNull();
});

/** 2026-03-04 05:06:07 where the test runs. */
const MOMENT = new Date(2026, 2, 4, 5, 6, 7).getTime() / 1000;
const MIDNIGHT = new Date(2026, 2, 4).getTime() / 1000;

describe("places", () => {
  it("have their unit", () => {
    expect(formatPlace(12_345, "steps")).toBe("12.3k steps");
    expect(formatPlace(7, "episodes")).toBe("7 episodes");
    expect(formatPlace(185, "time")).toBe("3:05");
    expect(formatPlace(MOMENT, "clock")).toBe("2026-03-04 05:06:07");
    expect(formatClock(MOMENT)).toBe("2026-03-04 05:06:07");
  });

  it("of a clock have what tells ticks apart", () => {
    expect(formatClockTicks([MOMENT], 10)).toEqual(["05:06:07"]);
    expect(formatClockTicks([MOMENT], 600)).toEqual(["05:06"]);
    expect(formatClockTicks([MIDNIGHT, MOMENT], 600)).toEqual(["03-04", "05:06"]);
    expect(formatClockTicks([MOMENT], 86_400)).toEqual(["03-04"]);
  });
});

describe("plotText", () => {
  const base = { title: "Return", axis: "steps", nothing: "Loading", lines: [] } as const;
  const line = (name: string, values: number[]) => ({
    id: name,
    name,
    color: "#000000",
    x: values.map((_, i) => 1000 * (i + 1)),
    values,
    low: null,
    high: null,
  });

  it("has the newest value and where it is", () => {
    expect(plotText(base)).toBe("Return: Loading");
    expect(plotText({ ...base, lines: [line("training", [1, 20])] })).toBe("Return: 20 after 2,000 steps");
    expect(plotText({ ...base, axis: "time", lines: [line("training", [1])] })).toBe("Return: 1 at 16:40");
  });

  it("names several lines, levels and the newest lesson", () => {
    const text = plotText({
      ...base,
      lines: [line("training", [1]), line("evaluation", [2])],
      levels: [{ name: "random play", value: 3 }],
      marks: [
        { kind: "lesson", text: "small" },
        { kind: "lesson", text: "large" },
        { kind: "pause", text: "" },
      ],
    });
    expect(text).toBe("Return: training 1, evaluation 2 after 1,000 steps; lesson large; random play 3");
  });
});

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

const series = (name: string, steps: number[], values: number[]): Series => ({
  name,
  steps,
  updates: steps,
  episodes: steps,
  seconds: steps,
  clock: steps,
  values,
  low: null,
  high: null,
});
const run = (id: string, steps: number[], values: number[], rest: Partial<ChartRun> = {}): ChartRun => ({
  id,
  name: `run ${id}`,
  colour: `#${id}`,
  series: { m: series("m", steps, values) },
  ...rest,
});
const panel = (...lines: Panel["lines"]): Panel => ({
  id: "m",
  title: "M",
  help: "",
  unit: "",
  group: "",
  isLog: false,
  lines,
  nothing: "",
});
const MAIN = { metric: "m", name: "training", role: "main" } as const;
const EVALUATION = { metric: "e", name: "evaluation", role: "evaluation" } as const;
const options = { axis: "steps", colours: ["red", "blue"], baseline: null } as const;

it("have a colour each in the charts of one run; an evaluation is dots", () => {
  const one = run("a", [1, 2], [5, 6], { colour: null });
  const both = { ...one, series: { ...one.series, e: series("e", [2], [9]) } };
  const lines = panelLines(panel(MAIN, EVALUATION), [both], options);
  expect(lines.map(({ id, name, color, hasDots, values }) => [id, name, color, hasDots, values])).toEqual([
    ["m", "training", "red", false, [5, 6]],
    ["e", "evaluation", "blue", true, [9]],
  ]);
});

it("have their run's colour and name in those of several; who has no value has no line", () => {
  const runs = [run("a", [1, 2], [5, 6]), run("b", [], []), run("c", [1], [7])];
  const lines = panelLines(panel(MAIN), runs, options);
  expect(lines.map(({ id, name, color, values }) => [id, name, color, values])).toEqual([
    ["a m", "run a", "#a", [5, 6]],
    ["c m", "run c", "#c", [7]],
  ]);
  expect(panelLines(panel(MAIN, EVALUATION), runs, options)[0]?.name).toBe("run a, training");
});

it("are one band for the runs of a group, and none for a group of one", () => {
  const runs = [
    run("a", [0, 10], [0, 10], { group: "gamma 0.9" }),
    run("b", [0, 10], [3, 3], { group: "gamma 0.99" }),
    run("c", [0, 10], [20, 30], { group: "gamma 0.9" }),
  ];
  const [band, single] = panelLines(panel(MAIN), runs, options);
  expect([band?.name, band?.color, band?.x[0], band?.x.at(-1)]).toEqual(["gamma 0.9", "#a", 0, 10]);
  expect([band?.values.at(-1), band?.low?.at(-1), band?.high?.at(-1)]).toEqual([20, 10, 30]);
  expect([single?.name, single?.low]).toEqual(["run b", null]);
});

it("are the difference to the baseline at the same place, as far as that one reaches", () => {
  // At 5 the baseline is half way from 0 to 10: 7 - 5 is 2. It ends before 20.
  const runs = [run("a", [0, 10], [0, 10]), run("b", [5, 10, 20], [7, 7, 7]), run("c", [30], [1])];
  const lines = panelLines(panel(MAIN), runs, { ...options, baseline: "a" });
  expect(lines.map(({ id, x, values }) => [id, x, values])).toEqual([
    ["a m", [0, 10], [0, 0]],
    ["b m", [5, 10], [2, -3]],
  ]);
  expect(panelLines(panel(EVALUATION), runs, { ...options, baseline: "a" })).toEqual([]);
});
