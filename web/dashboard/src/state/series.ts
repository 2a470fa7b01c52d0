/** Metric series in memory: a snapshot from the server, then rows as they come, thinned when they grow long. */

import type { MetricSeries, MetricsRow } from "@attract/schema";

/** All arrays have one length; `steps` never falls. */
export interface Series {
  readonly name: string;
  readonly steps: readonly number[];
  readonly seconds: readonly number[];
  readonly values: readonly number[];
  /** Smallest and largest value behind each point. */
  readonly low: readonly number[];
  readonly high: readonly number[];
}

export type SeriesByName = Readonly<Record<string, Series>>;

/** Points kept per series; twice as many are halved. */
export const MAX_POINTS = 600;

/** The server's snapshot as series. */
export function seriesFromSnapshot(snapshot: readonly MetricSeries[]): SeriesByName {
  return Object.fromEntries(
    snapshot.map(({ name, agent_steps, seconds, values, low, high }) => [
      name,
      { name, steps: agent_steps, seconds, values, low, high },
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
      for (const list of [target.values, target.low, target.high]) list.push(value);
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
  low: number[];
  high: number[];
}

function growingCopy(name: string, old: Series | undefined): GrowingSeries {
  return {
    name,
    steps: [...(old?.steps ?? [])],
    seconds: [...(old?.seconds ?? [])],
    values: [...(old?.values ?? [])],
    low: [...(old?.low ?? [])],
    high: [...(old?.high ?? [])],
  };
}

/** Neighbours merged in pairs: mean value, later position, widest range. An odd last point stays as it is. */
export function halve(series: Series): Series {
  const { steps, seconds, values, low, high } = series;
  const merged = growingCopy(series.name, undefined);
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
