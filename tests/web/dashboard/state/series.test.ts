/** Series: a snapshot, rows after it, and thinning. */

import { describe, expect, it } from "vitest";
import {
  addRows,
  halve,
  lastValue,
  lineOf,
  seriesFromSnapshot,
} from "../../../../web/dashboard/src/state/series.ts";

const row = (update: number, values: Record<string, number>) => ({
  update,
  agent_steps: 1000 * update,
  seconds: 10 * update,
  values,
});

const snapshot = seriesFromSnapshot({
  agent_steps: [1000, 2000],
  seconds: [10, 20],
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
      seconds: [20],
      values: [5],
      low: null,
      high: null,
    });
  });
});

describe("lineOf", () => {
  const line = (seconds: number[]) =>
    lineOf(
      {
        name: "x",
        steps: seconds.map((_, i) => i),
        seconds,
        values: seconds.map(() => 7),
        low: null,
        high: null,
      },
      "time",
    );

  it("breaks where nothing was learned for long, over time alone", () => {
    const seconds = [1, 2, 3, 13, 14];
    const [x, values, low] = line(seconds);
    expect(x).toEqual([1, 2, 3, 8, 13, 14]);
    expect(values).toEqual([7, 7, 7, null, 7, 7]);
    expect(low).toEqual([null, null, null, null, null, null]);
    const steps = {
      name: "x",
      steps: [1, 2, 999],
      seconds: [1, 2, 99],
      values: [1, 2, 3],
      low: null,
      high: null,
    };
    expect(lineOf(steps, "steps")[1]).toEqual([1, 2, 3]);
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
      seconds: [10, 20, 30, 40],
      values: [1, 2, 7, 8],
      low: [0, 1, 7, 8],
      high: [2, 3, 7, 8],
    });
    expect(series.b).toMatchObject({ steps: [3000], values: [-1], low: null, high: null });
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
    const one = {
      name: "x",
      steps: [1, 2],
      seconds: [1, 2],
      values: [10, 20],
      low: [-5, 18],
      high: [11, 90],
    };
    expect(halve(one)).toEqual({ name: "x", steps: [2], seconds: [2], values: [15], low: [-5], high: [90] });
  });
});

describe("lastValue", () => {
  it("is the newest, or null without any", () => {
    expect(lastValue(snapshot.a)).toBe(2);
    expect(lastValue(undefined)).toBeNull();
  });
});
