/** Lines as a chart draws them: one x-axis for all, smoothed, with the raw line and the range behind. */

import type { ChartAxis } from "./chart-view.ts";
import { type Line, lineOf, type Series } from "./series.ts";

type Values = readonly (number | null | undefined)[];

export interface DrawnLine {
  readonly id: string;
  readonly name: string;
  readonly color: string;
  readonly dash?: readonly number[];
  /** Whether each point is a dot. */
  readonly hasDots?: boolean;
  /** Whether it is dots alone. */
  readonly isScatter?: boolean;
  /** Its name where its point at `x` is read. */
  readonly nameAt?: (x: number) => string;
  readonly x: readonly number[];
  readonly values: readonly (number | null)[];
  /** Smallest and largest value behind each point; null where it is one value. */
  readonly low: readonly (number | null)[] | null;
  readonly high: readonly (number | null)[] | null;
}

/** A series as a line. */
export function drawnLine(
  series: Series,
  axis: ChartAxis,
  style: Pick<DrawnLine, "id" | "name" | "color" | "dash" | "hasDots">,
): DrawnLine {
  const [x, values, low, high]: Line = lineOf(series, axis);
  const hasBand = series.low !== null;
  return { ...style, x, values, low: hasBand ? low : null, high: hasBand ? high : null };
}

/**
 * Exponential moving average with bias correction, as TensorBoard's: after n values the newest has weight
 * (1 - weight) / (1 - weight^n). A gap (null) starts it anew.
 */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    if (value === null) {
      sum = total = 0;
      return null;
    }
    sum = weight * sum + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return sum / total;
  });
}

/** What stands in each column beside x: `main` is the smoothed line where there is one, `raw` then the line itself. */
export interface Column {
  readonly line: number;
  readonly kind: "main" | "low" | "high" | "raw";
}

export interface DrawnTable {
  readonly x: readonly number[];
  readonly columns: readonly Column[];
  /** For each column a value at every x: null is a gap of its line, undefined is no point of it. */
  readonly values: readonly Values[];
}

/** All lines over one x-axis, which has every place of any of them. */
export function tableOf(lines: readonly DrawnLine[], smooth: number): DrawnTable {
  const x = unionOf(lines.map((line) => line.x));
  const columns: Column[] = [];
  const values: Values[] = [];
  for (const [place, line] of lines.entries()) {
    const add = (kind: Column["kind"], list: readonly (number | null)[] | null) => {
      if (list === null) return;
      columns.push({ line: place, kind });
      values.push(spread(list, line.x, x));
    };
    add("raw", smooth > 0 ? line.values : null);
    add("main", smooth > 0 ? smoothed(line.values, smooth) : line.values);
    add("low", line.low);
    add("high", line.high);
  }
  return { x, columns, values };
}

function unionOf(lists: readonly (readonly number[])[]): readonly number[] {
  const [first = [], ...others] = lists;
  if (others.every((list) => list === first || isSame(list, first))) return first;
  return [...new Set(lists.flat())].sort((a, b) => a - b);
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, i) => value === other[i]);
}

function spread(list: readonly (number | null)[], from: readonly number[], to: readonly number[]): Values {
  if (from.length === to.length) return list;
  const wide: (number | null | undefined)[] = new Array(to.length).fill(undefined);
  let at = 0;
  for (let i = 0; i < from.length; i++) {
    while (to[at] < from[i]) at++;
    wide[at] = list[i];
  }
  return wide;
}

/** Smallest and largest number drawn between two places of x, bands included; null: there is none. */
export function extremesOf(
  { x, values, columns }: DrawnTable,
  range: readonly [number, number] | null,
): readonly [low: number, high: number] | null {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [place, list] of values.entries()) {
    if (
      columns[place].kind === "main" &&
      columns.some(({ line, kind }) => line === columns[place].line && kind === "raw")
    )
      continue;
    for (let i = 0; i < x.length; i++) {
      const value = list[i];
      if (value === null || value === undefined || (range !== null && (x[i] < range[0] || x[i] > range[1])))
        continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low <= high ? [low, high] : null;
}

/** Points that the outlier cut leaves out at each end, as a share. */
const CUT = 0.02;

/** The range of all but the outermost points of lines, bands left out; null: there are none. */
export function cutRange(
  { x, values, columns }: DrawnTable,
  range: readonly [number, number] | null,
): readonly [low: number, high: number] | null {
  const found: number[] = [];
  for (const [place, list] of values.entries()) {
    if (columns[place].kind !== "main") continue;
    for (let i = 0; i < x.length; i++) {
      const value = list[i];
      if (value !== null && value !== undefined && (range === null || (x[i] >= range[0] && x[i] <= range[1])))
        found.push(value);
    }
  }
  if (found.length === 0) return null;
  found.sort((a, b) => a - b);
  const at = (share: number) => found[Math.round(share * (found.length - 1))];
  return [at(CUT), at(1 - CUT)];
}

/** Index of the point of `line` nearest to a place; -1: it has none. */
export function nearestPoint(x: readonly number[], values: Values, place: number): number {
  let found = -1;
  for (let i = 0; i < x.length; i++) {
    if (values[i] === null || values[i] === undefined) continue;
    if (found < 0 || Math.abs(x[i] - place) <= Math.abs(x[found] - place)) found = i;
    else break;
  }
  return found;
}

/** As `nearestPoint`; -1 also where the line has not begun or has ended, but for as much as its points are apart there. */
export function pointAt(x: readonly number[], values: Values, place: number): number {
  const own = x.filter((_, i) => values[i] !== null && values[i] !== undefined);
  const [first = 0, second = first] = own;
  const [last = 0, before = last] = own.slice(-2).reverse();
  if (place > 2 * last - before || place < 2 * first - second) return -1;
  return nearestPoint(x, values, place);
}

/** Index of the last point at or before a place; -1: it has none. */
export function pointBefore(x: readonly number[], values: Values, place: number): number {
  for (let i = x.length - 1; i >= 0; i--)
    if (x[i] <= place && values[i] !== null && values[i] !== undefined) return i;
  return -1;
}

/** The lines as a table of text: a header, then a row for each x that any has; empty where a line has no point. */
export function csvOf(lines: readonly DrawnLine[], xName: string): string {
  const { x, columns, values } = tableOf(lines, 0);
  const ending = { main: "", raw: "", low: " min", high: " max" };
  const head = [xName, ...columns.map(({ line, kind }) => `${lines[line].name}${ending[kind]}`)];
  const rows = x.map((place, i) => [place, ...values.map((list) => list[i] ?? "")]);
  return `${[head, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n")}\r\n`;
}

/** A cell that a spreadsheet does not take for a formula: names come from games. */
function quoted(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A band over several lines of one group, for seeds: mean, smallest and largest value over places that all of them reach. */
export function bandOver(
  lines: readonly DrawnLine[],
  style: Pick<DrawnLine, "id" | "name" | "color">,
  numPoints = 200,
): DrawnLine | null {
  const filled = lines.filter(({ x }) => x.length > 0);
  if (filled.length === 0) return null;
  const from = Math.max(...filled.map(({ x }) => x[0]));
  const to = Math.min(...filled.map(({ x }) => x[x.length - 1]));
  if (to < from) return null;
  const x = Array.from({ length: numPoints }, (_, i) => from + ((to - from) * i) / (numPoints - 1));
  const columns = filled.map((line) => resample(line, x));
  const at = (i: number) => columns.map((column) => column[i]);
  return {
    ...style,
    x,
    values: x.map((_, i) => at(i).reduce((sum, value) => sum + value, 0) / columns.length),
    low: x.map((_, i) => Math.min(...at(i))),
    high: x.map((_, i) => Math.max(...at(i))),
  };
}

/** A line less another at the same places, as far as that one reaches; undefined where they have no place in common. */
export function differenceTo(line: DrawnLine, base: DrawnLine): DrawnLine | undefined {
  const [first, last] = [base.x[0], base.x[base.x.length - 1]];
  if (first === undefined || last === undefined) return undefined;
  const within = line.x.flatMap((x, i) => (x >= first && x <= last ? [i] : []));
  if (within.length === 0) return undefined;
  const x = within.map((i) => line.x[i] ?? 0);
  const beneath = resample(base, x);
  const less = (list: DrawnLine["low"]) =>
    list && within.map((i, at) => (list[i] == null ? null : list[i] - (beneath[at] ?? 0)));
  return { ...line, x, values: less(line.values) ?? [], low: less(line.low), high: less(line.high) };
}

/** Values of a line at places within it, between points in proportion; gaps are bridged. */
function resample(line: DrawnLine, places: readonly number[]): number[] {
  const points = line.x.flatMap((x, i) => (line.values[i] === null ? [] : [[x, line.values[i] as number]]));
  let at = 0;
  return places.map((place) => {
    while (at < points.length - 2 && points[at + 1][0] < place) at++;
    const [[x0, y0], [x1, y1]] = [points[at], points[Math.min(at + 1, points.length - 1)]];
    return x1 === x0 ? y0 : y0 + ((y1 - y0) * (place - x0)) / (x1 - x0);
  });
}
