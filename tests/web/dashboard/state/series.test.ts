/** Series: a snapshot, rows after it, and thinning; lines as they are drawn: one axis, smoothing, ranges, readings, text. */

import { describe, expect, it } from "vitest";
import {
  bandOver,
  csvOf,
  cutRange,
  type DrawnLine,
  drawnLine,
  extremesOf,
  nearestPoint,
  pointAt,
  pointBefore,
  smoothed,
  tableOf,
} from "../../../../web/dashboard/src/state/drawn-lines.ts";
import {
  addRows,
  detailFrom,
  halve,
  lineOf,
  pausesOf,
  placeAlong,
  type Series,
  seriesFromSnapshot,
  withDetail,
} from "../../../../web/dashboard/src/state/series.ts";

const row = (update: number, values: Record<string, number>) => ({
  update,
  agent_steps: 1000 * update,
  seconds: 10 * update,
  values,
});

/** A series whose updates are 1, 2, ..., with 10 episodes and the clock 5000 + seconds each. */
function series(changes: Partial<Series> & Pick<Series, "steps" | "values">): Series {
  const seconds = changes.seconds ?? changes.steps;
  return {
    name: "x",
    updates: changes.steps.map((_, i) => i + 1),
    episodes: changes.steps.map((_, i) => 10 * (i + 1)),
    seconds,
    clock: seconds.map((second) => 5000 + second),
    low: null,
    high: null,
    ...changes,
  };
}

const snapshot = seriesFromSnapshot({
  agent_steps: [1000, 2000],
  seconds: [10, 20],
  updates: [1, 2],
  episodes: [5, 9],
  clock: [
    { seconds: 10, unix_seconds: 5010 },
    { seconds: 20, unix_seconds: 7000 },
  ],
  series: [
    { name: "a", at: null, values: [1, 2], low: [0, 1], high: [2, 3] },
    { name: "rare", at: [1], values: [5], low: null, high: null },
  ],
});

describe("seriesFromSnapshot", () => {
  it("shares the axis, and finds the places of a series that is not everywhere", () => {
    expect(snapshot.a.steps).toEqual([1000, 2000]);
    expect(snapshot.rare).toEqual({
      name: "rare",
      steps: [2000],
      updates: [2],
      episodes: [9],
      seconds: [20],
      // The run went on after a break: its second session has another clock.
      clock: [7000],
      values: [5],
      low: null,
      high: null,
    });
  });
});

describe("lineOf", () => {
  const line = (seconds: number[]) =>
    lineOf(series({ steps: seconds.map((_, i) => i), seconds, values: seconds.map(() => 7) }), "time");

  it("breaks where nothing was learned for long, over time alone", () => {
    const seconds = [1, 2, 3, 13, 14];
    const [x, values, low] = line(seconds);
    expect(x).toEqual([1, 2, 3, 8, 13, 14]);
    expect(values).toEqual([7, 7, 7, null, 7, 7]);
    expect(low).toEqual([null, null, null, null, null, null]);
    const steps = series({ steps: [1, 2, 3, 999], seconds: [1, 2, 3, 99], values: [1, 2, 3, 4] });
    expect(lineOf(steps, "steps")[1]).toEqual([1, 2, 3, 4]);
    expect(lineOf(steps, "clock")[1]).toEqual([1, 2, 3, null, 4]);
    expect(lineOf(steps, "episodes")[0]).toEqual([10, 20, 30, 40]);
  });

  it("does not break where updates are as rare everywhere, or pauses short", () => {
    expect(line([0, 30, 60, 95, 120])[1]).not.toContain(null);
    expect(line([0, 0.1, 0.2, 4, 4.1])[1]).not.toContain(null);
    expect(line([5])).toEqual([[5], [7], [null], [null]]);
  });
});

describe("addRows", () => {
  it("goes on where the snapshot ends, for known and new metrics", () => {
    const series = addRows(snapshot, [row(3, { a: 7, b: -1 }), row(4, { a: 8 })]);
    expect(series.a).toEqual({
      name: "a",
      steps: [1000, 2000, 3000, 4000],
      updates: [1, 2, 3, 4],
      episodes: [9, 9, 9, 9].map((ended, i) => (i === 0 ? 5 : ended)),
      seconds: [10, 20, 30, 40],
      clock: [5010, 7000, 7010, 7020],
      values: [1, 2, 7, 8],
      low: [0, 1, 7, 8],
      high: [2, 3, 7, 8],
    });
    expect(series.b).toMatchObject({ steps: [3000], values: [-1], low: null, high: null });
  });

  it("counts the episodes of each row once, and begins the clock with the newest row", () => {
    const rows = [row(1, { "rollout/episodes": 3, a: 1 }), row(2, { "rollout/episodes": 4, a: 1 })];
    const once = addRows({}, rows, 400, 9000);
    expect(once.a.episodes).toEqual([3, 7]);
    expect(once.a.clock).toEqual([8990, 9000]);
    const more = addRows(once, [...rows, row(3, { "rollout/episodes": 5, a: 1 })], 400, 1);
    expect(more.a.episodes).toEqual([3, 7, 12]);
    expect(more.a.clock).toEqual([8990, 9000, 9010]);
  });

  it("takes a row once, however often and late it comes", () => {
    const series = addRows(snapshot, [
      row(2, { a: 99 }),
      row(3, { a: 7 }),
      row(3, { a: 7 }),
      row(1, { a: 99 }),
    ]);
    expect(series.a.values).toEqual([1, 2, 7]);
  });

  it("leaves out what is not finite, and changes nothing it was given", () => {
    const series = addRows(snapshot, [row(3, { a: Number.NaN, b: Number.POSITIVE_INFINITY })]);
    expect(series.a).toBe(snapshot.a);
    expect(series.b).toBeUndefined();
    addRows(snapshot, [row(3, { a: 5 })]);
    expect(snapshot.a.values).toEqual([1, 2]);
  });

  it("stays short: past twice the limit neighbours are merged", () => {
    const rows = Array.from({ length: 9 }, (_, i) => row(i + 1, { a: i + 1 }));
    const { a } = addRows({}, rows, 4);
    // 9 > 2 x 4: pairs (1,2) (3,4) (5,6) (7,8) and the odd 9.
    expect(a.values).toEqual([1.5, 3.5, 5.5, 7.5, 9]);
    expect(a.steps).toEqual([2000, 4000, 6000, 8000, 9000]);
    expect(a.low).toEqual([1, 3, 5, 7, 9]);
    expect(a.high).toEqual([2, 4, 6, 8, 9]);
  });
});

describe("halve", () => {
  it("keeps the widest range of each pair", () => {
    const one = series({ steps: [1, 2], values: [10, 20], low: [-5, 18], high: [11, 90] });
    const half = { steps: [2], updates: [2], episodes: [20], seconds: [2], clock: [5002] };
    expect(halve(one)).toEqual({ name: "x", ...half, values: [15], low: [-5], high: [90] });
    const other = series({ steps: [1, 2], values: [10, 20], low: [1, -9], high: [95, 21] });
    expect(halve(other)).toMatchObject({ low: [-9], high: [95] });
  });
});

describe("withDetail", () => {
  const base = series({ steps: [10, 20, 30, 40], values: [1, 2, 3, 4] });

  const part = (from: number, until: number, more: Parameters<typeof series>[0]) => ({
    series: { x: series(more) },
    from,
    until,
  });

  it("puts the points that were asked for in place of those of the same steps", () => {
    const more = { steps: [22, 26], values: [7, 8], low: [6, 8], high: [7, 9] };
    const joined = withDetail(base, part(15, 30, more));
    expect(joined.steps).toEqual([10, 22, 26, 40]);
    expect(joined.values).toEqual([1, 7, 8, 4]);
    expect(joined.low).toEqual([1, 6, 8, 4]);
    expect(joined.high).toEqual([1, 7, 9, 4]);
    expect(joined.clock).toHaveLength(4);
  });

  it("is as it was without any, and is what came where that is all", () => {
    expect(withDetail(base, null)).toBe(base);
    expect(withDetail(base, part(15, 30, { steps: [], values: [] }))).toBe(base);
    expect(withDetail(base, { series: {}, from: 0, until: 99 })).toBe(base);
    expect(withDetail(base, part(1, 99, { steps: [1, 99], values: [7, 8] })).values).toEqual([7, 8]);
  });

  it("covers a range whole, or until its newest update where the run may go on in it", () => {
    const view = {
      run_id: "r",
      names: [],
      agent_steps: [],
      seconds: [],
      updates: [],
      episodes: [],
      clock: [],
      series: [],
    };
    const until = (to: number, newest: number) =>
      detailFrom({ ...view, last_steps: 30 }, 15, to, newest).until;
    expect(until(35, 40)).toBe(35);
    expect(until(35, 30)).toBe(30);
  });
});

describe("placeAlong", () => {
  it("is between two points in proportion, and at the ends beyond them", () => {
    // 25 is half way from 20 to 30, so half way from 4 to 9.
    expect(placeAlong([10, 20, 30], [1, 4, 9], 25)).toBe(6.5);
    expect(placeAlong([10, 20, 30], [1, 4, 9], 20)).toBe(4);
    expect(placeAlong([10, 20, 30], [1, 4, 9], -1)).toBe(1);
    expect(placeAlong([10, 20, 30], [1, 4, 9], 99)).toBe(9);
    expect(placeAlong([], [], 5)).toBeUndefined();
  });
});

describe("pausesOf", () => {
  it("is where updates went on after long", () => {
    expect(pausesOf(series({ steps: [1, 2, 3, 4], seconds: [1, 2, 60, 61], values: [0, 0, 0, 0] }))).toEqual([
      3,
    ]);
    expect(pausesOf(undefined)).toEqual([]);
  });
});

const line = (
  id: string,
  x: number[],
  values: (number | null)[],
  changes: Partial<DrawnLine> = {},
): DrawnLine => ({
  id,
  name: id,
  color: "#000000",
  x,
  values,
  low: null,
  high: null,
  ...changes,
});

describe("drawnLine", () => {
  it("has a band only where points stand for several values", () => {
    const series = {
      name: "a",
      steps: [1, 2],
      updates: [1, 2],
      episodes: [0, 0],
      seconds: [1, 2],
      clock: [1, 2],
      values: [5, 6],
      low: null,
      high: null,
    };
    const style = { id: "a", name: "a", color: "#000000" };
    expect(drawnLine(series, "steps", style)).toEqual({
      ...style,
      x: [1, 2],
      values: [5, 6],
      low: null,
      high: null,
    });
    expect(drawnLine({ ...series, low: [4, 5], high: [6, 9] }, "steps", style)).toMatchObject({
      low: [4, 5],
      high: [6, 9],
    });
  });
});

describe("smoothed", () => {
  it("is an average of the past, unbiased from the first value on", () => {
    // Weights 0.5 and 0.25: (0.25 x 1 + 0.5 x 4) / 0.75 = 3; then (0.125 x 1 + 0.25 x 4 + 0.5 x 2) / 0.875.
    const [first, second, third] = smoothed([1, 4, 2], 0.5);
    expect(first).toBe(1);
    expect(second).toBeCloseTo(3, 12);
    expect(third).toBeCloseTo(2.125 / 0.875, 12);
  });

  it("begins anew after a gap", () => {
    expect(smoothed([1, null, 9], 0.9)).toEqual([1, null, expect.closeTo(9, 9)]);
  });
});

describe("tableOf", () => {
  it("puts lines with places of their own on one axis: undefined is no point, null a gap", () => {
    const table = tableOf([line("a", [1, 2, 3], [5, null, 7]), line("b", [2, 9], [1, 2])], 0);
    expect(table.x).toEqual([1, 2, 3, 9]);
    expect(table.values).toEqual([
      [5, null, 7, undefined],
      [undefined, 1, undefined, 2],
    ]);
  });

  it("has every place of two lines with as many points at other places", () => {
    const table = tableOf([line("a", [1, 2], [5, 6]), line("b", [2, 3], [7, 8])], 0);
    expect(table.x).toEqual([1, 2, 3]);
    expect(table.values).toEqual([
      [5, 6, undefined],
      [undefined, 7, 8],
    ]);
  });

  it("has the line itself behind a smoothed one, and its band", () => {
    const { columns, values } = tableOf([line("a", [1, 2], [0, 3], { low: [0, 1], high: [0, 5] })], 0.5);
    expect(columns.map(({ kind }) => kind)).toEqual(["raw", "main", "low", "high"]);
    expect(values[0]).toEqual([0, 3]);
    expect(values[1]).toEqual([0, 2]);
  });
});

describe("ranges of y", () => {
  const spiky = tableOf(
    [
      line(
        "a",
        [...Array(100).keys()],
        [...Array(100).keys()].map((i) => (i === 50 ? 999 : i)),
        {},
      ),
    ],
    0,
  );

  it("have everything, bands and raw values too", () => {
    expect(extremesOf(spiky, null)).toEqual([0, 999]);
    expect(extremesOf(spiky, [60, 70])).toEqual([60, 70]);
    expect(
      extremesOf(tableOf([line("a", [1, 2], [3, 5], { low: [-1, 5], high: [3, 8] })], 0.9), null),
    ).toEqual([-1, 8]);
    expect(extremesOf(spiky, [200, 300])).toBeNull();
  });

  it("leave out the outermost where they are cut", () => {
    // In 100 sorted values, 2 % from each end: the third and the third last.
    expect(cutRange(spiky, null)).toEqual([2, 98]);
    expect(cutRange(spiky, [200, 300])).toBeNull();
  });
});

describe("nearestPoint", () => {
  it("is the nearest that the line has", () => {
    expect(nearestPoint([1, 2, 3, 4], [5, undefined, null, 8], 2.4)).toBe(0);
    expect(nearestPoint([1, 2, 3, 4], [5, undefined, null, 8], 2.6)).toBe(3);
    expect(nearestPoint([1, 2, 3], [5, 6, 7], 99)).toBe(2);
    expect(nearestPoint([], [], 1)).toBe(-1);
  });
});

describe("pointBefore", () => {
  it("is the last that the line has until then", () => {
    expect(pointBefore([1, 2, 3, 4], [5, undefined, null, 8], 3.9)).toBe(0);
    expect(pointBefore([1, 2, 3, 4], [5, undefined, null, 8], 4)).toBe(3);
    expect(pointBefore([1, 2], [5, 6], 0)).toBe(-1);
  });
});

describe("csvOf", () => {
  it("has a row for each place, names that need it in quotes, and no formulas", () => {
    const lines = [
      line('a, "b"', [1, 2], [0.5, null], { low: [0, 0], high: [1, 1] }),
      line("=SUM(A1)", [2], [7]),
    ];
    expect(csvOf(lines, "steps")).toBe(
      'steps,"a, ""b""","a, ""b"" min","a, ""b"" max",\'=SUM(A1)\r\n1,0.5,0,1,\r\n2,,0,1,7\r\n',
    );
  });
});

describe("N17: a point that is read", () => {
  const x = [0, 10, 20, 30, 40];
  const ended = [1, 2, 3, undefined, undefined];

  it("is the nearest within the line, and none beyond its end", () => {
    expect([0, 13, 20, 29].map((place) => pointAt(x, ended, place))).toEqual([0, 1, 2, 2]);
    expect([31, 40].map((place) => pointAt(x, ended, place))).toEqual([-1, -1]);
    expect(pointAt(x, [undefined, undefined, 3, 4, 5], 5)).toBe(-1);
    expect(pointAt(x, [], 5)).toBe(-1);
  });
});

describe("bandOver", () => {
  it("is mean and extremes of several lines where all of them are", () => {
    const style = { id: "g", name: "g", color: "#000000" };
    const band = bandOver([line("a", [0, 10], [0, 10]), line("b", [5, 15], [20, 20])], style, 3)!;
    // From 5 to 10: a is 5, 7.5, 10 and b 20.
    expect(band.x).toEqual([5, 7.5, 10]);
    expect(band.values).toEqual([12.5, 13.75, 15]);
    expect([band.low, band.high]).toEqual([
      [5, 7.5, 10],
      [20, 20, 20],
    ]);
    expect(bandOver([line("a", [0, 1], [0, 0]), line("b", [5, 6], [0, 0])], style)).toBeNull();
    expect(bandOver([], style)).toBeNull();
  });
});
