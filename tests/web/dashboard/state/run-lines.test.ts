/** The lines of a chart, of one run and of several. */

import { expect, it } from "vitest";
import type { Panel } from "../../../../web/dashboard/src/state/panels.ts";
import { type ChartRun, panelLines } from "../../../../web/dashboard/src/state/run-lines.ts";
import type { Series } from "../../../../web/dashboard/src/state/series.ts";

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
