/** Runs as lines of one chart. */

import { expect, it } from "vitest";
import { runLines } from "../../../../web/dashboard/src/state/run-lines.ts";
import type { Series } from "../../../../web/dashboard/src/state/series.ts";

const series = (steps: number[], values: number[]): Series => ({
  name: "m",
  steps,
  updates: steps,
  episodes: steps,
  seconds: steps,
  clock: steps,
  values,
  low: null,
  high: null,
});
const run = (id: string, group?: string) => ({ id, name: `run ${id}`, colour: `#${id}`, group });

it("has a line for each run that has the metric, in its colour", () => {
  const lines = runLines(
    [run("a"), run("b"), run("c")],
    [series([1, 2], [5, 6]), undefined, series([1], [7])],
    null,
    "steps",
  );
  expect(lines.map(({ id, name, color, values }) => [id, name, color, values])).toEqual([
    ["a", "run a", "#a", [5, 6]],
    ["c", "run c", "#c", [7]],
  ]);
});

it("has one line with a band for the runs of a group, and none for a group of one", () => {
  const runs = [run("a", "gamma 0.9"), run("b", "gamma 0.99"), run("c", "gamma 0.9")];
  const whole = [series([0, 10], [0, 10]), series([0, 10], [3, 3]), series([0, 10], [20, 30])];
  const [band, single] = runLines(runs, whole, null, "steps");
  expect([band.name, band.color, band.x[0], band.x.at(-1)]).toEqual(["gamma 0.9", "#a", 0, 10]);
  expect([band.values.at(-1), band.low?.at(-1), band.high?.at(-1)]).toEqual([20, 10, 30]);
  expect([single.name, single.low]).toEqual(["run b", null]);
});

it("has the points of a part that was asked for", () => {
  const detail = { series: { m: series([4, 6], [1, 2]) }, from: 3, until: 7 };
  const [line] = runLines([run("a")], [series([0, 5, 10], [0, 0, 0])], [detail], "steps");
  expect([line.x, line.values]).toEqual([
    [0, 4, 6, 10],
    [0, 1, 2, 0],
  ]);
});
