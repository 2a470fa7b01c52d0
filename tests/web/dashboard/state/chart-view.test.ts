/** The view of charts: in the address, its ranges, its steps. */

import { describe, expect, it } from "vitest";
import {
  type ChartView,
  chartViewIn,
  putChartView,
  resolveRange,
  stepRange,
  toggled,
  zoomedTo,
} from "../../../../web/dashboard/src/state/chart-view.ts";
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
