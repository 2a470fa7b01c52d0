/** Lines as they are drawn: one axis, smoothing, ranges, readings, text. */

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
