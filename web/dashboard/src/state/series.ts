/** Metric series in memory: a snapshot from the server, then rows as they come, thinned when they grow long. */

import type { MetricsRow, MetricsView } from "@attract/schema";

/** All arrays have one length; `steps` never falls. */
export interface Series {
  readonly name: string;
  readonly steps: readonly number[];
  readonly seconds: readonly number[];
  readonly values: readonly number[];
  /** Smallest and largest value behind each point; null while every point is one value. */
  readonly low: readonly number[] | null;
  readonly high: readonly number[] | null;
}

export type SeriesByName = Readonly<Record<string, Series>>;

/** Mean training return. */
export const RETURN = "rollout/ep_rew_mean";

/** Points kept per series; twice as many are halved. No chart is wider. */
export const MAX_POINTS = 400;

/** The server's snapshot as series; those that have a value everywhere share its axis. */
export function seriesFromSnapshot(
  snapshot: Pick<MetricsView, "agent_steps" | "seconds" | "series">,
): SeriesByName {
  const { agent_steps, seconds } = snapshot;
  return Object.fromEntries(
    snapshot.series.map(({ name, at, values, low, high }) => [
      name,
      {
        name,
        steps: at === null ? agent_steps : at.map((index) => agent_steps[index]),
        seconds: at === null ? seconds : at.map((index) => seconds[index]),
        values,
        low,
        high,
      },
    ]),
  );
}

/**
 * `series` with the rows of later updates added. A row that is not later than what a metric already has is left out, so rows
 * may arrive twice; so are values that are not finite numbers.
 */
export function addRows(
  series: SeriesByName,
  rows: readonly MetricsRow[],
  maxPoints = MAX_POINTS,
): SeriesByName {
  const next: Record<string, Series> = { ...series };
  const grown = new Map<string, GrowingSeries>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row.values)) {
      if (!Number.isFinite(value)) continue;
      const target = grown.get(name) ?? growingCopy(name, next[name]);
      if (row.agent_steps <= (target.steps.at(-1) ?? -1)) continue;
      grown.set(name, target);
      target.steps.push(row.agent_steps);
      target.seconds.push(row.seconds);
      for (const list of [target.values, target.low, target.high]) list?.push(value);
    }
  }
  for (const [name, target] of grown) {
    let thinned: Series = target;
    while (thinned.steps.length > 2 * maxPoints) thinned = halve(thinned);
    next[name] = thinned;
  }
  return next;
}

interface GrowingSeries extends Series {
  steps: number[];
  seconds: number[];
  values: number[];
  low: number[] | null;
  high: number[] | null;
}

/** One whose points stand for several values each. */
type Growing = GrowingSeries & { low: number[]; high: number[] };

function growingCopy(name: string, old: Series | undefined): GrowingSeries {
  return {
    name,
    steps: [...(old?.steps ?? [])],
    seconds: [...(old?.seconds ?? [])],
    values: [...(old?.values ?? [])],
    low: old?.low == null ? null : [...old.low],
    high: old?.high == null ? null : [...old.high],
  };
}

/** Neighbours merged in pairs: mean value, later position, widest range. An odd last point stays as it is. */
export function halve(series: Series): Series {
  const { steps, seconds, values } = series;
  const { low, high } = { low: series.low ?? values, high: series.high ?? values };
  const merged: Growing = { name: series.name, steps: [], seconds: [], values: [], low: [], high: [] };
  for (let i = 0; i < steps.length; i += 2) {
    const j = Math.min(i + 1, steps.length - 1);
    merged.steps.push(steps[j]);
    merged.seconds.push(seconds[j]);
    merged.values.push((values[i] + values[j]) / 2);
    merged.low.push(Math.min(low[i], low[j]));
    merged.high.push(Math.max(high[i], high[j]));
  }
  return merged;
}

/** The newest value, or null. */
export function lastValue(series: Series | undefined): number | null {
  if (series === undefined || series.values.length === 0) return null;
  return series.values[series.values.length - 1];
}

/** A line as it is drawn: x, then values, lowest and highest; null where nothing is drawn. */
export type Line = [x: number[], values: (number | null)[], low: (number | null)[], high: (number | null)[]];

/** A time between two points is a gap if it is this many times the usual one ... */
const GAP_FACTOR = 8;
/** ... if it is also longer than this, in seconds. */
const GAP_SECONDS = 5;

/** `series` over `axis`. Over time the line breaks at long gaps without updates: the run was paused or had no workers. */
export function lineOf(series: Series, axis: "steps" | "time"): Line {
  const x = axis === "steps" ? series.steps : series.seconds;
  const low = series.low ?? [];
  const high = series.high ?? [];
  const gap = axis === "steps" ? Number.POSITIVE_INFINITY : gapOf(x);
  const line: Line = [[], [], [], []];
  for (let i = 0; i < x.length; i++) {
    if (i > 0 && x[i] - x[i - 1] > gap) addPoint(line, (x[i] + x[i - 1]) / 2, null, null, null);
    addPoint(line, x[i], series.values[i], low[i] ?? null, high[i] ?? null);
  }
  return line;
}

/** The shortest distance between two points that is a gap. */
function gapOf(seconds: readonly number[]): number {
  const distances = seconds.slice(1).map((second, i) => second - seconds[i]);
  const median = distances.sort((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 0;
  return Math.max(GAP_SECONDS, GAP_FACTOR * median);
}

function addPoint(
  line: Line,
  x: number,
  value: number | null,
  low: number | null,
  high: number | null,
): void {
  line[0].push(x);
  line[1].push(value);
  line[2].push(low);
  line[3].push(high);
}
