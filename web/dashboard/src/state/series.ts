/** Metric series in memory: a snapshot from the server, then rows as they come, thinned when they grow long. */

import type { MetricsRow, MetricsView } from "@attract/schema";
import type { ChartAxis } from "./chart-view.ts";

/** All arrays have one length; `steps` never falls. */
export interface Series {
  readonly name: string;
  readonly steps: readonly number[];
  readonly updates: readonly number[];
  /** Episodes that had ended by then. */
  readonly episodes: readonly number[];
  readonly seconds: readonly number[];
  /** Unix time in seconds. */
  readonly clock: readonly number[];
  readonly values: readonly number[];
  /** Smallest and largest value behind each point; null while every point is one value. */
  readonly low: readonly number[] | null;
  readonly high: readonly number[] | null;
}

export type SeriesByName = Readonly<Record<string, Series>>;

/** The axes of a series. */
const PLACES = ["steps", "updates", "episodes", "seconds", "clock"] as const;
type Place = (typeof PLACES)[number];

/** Mean training return. */
export const RETURN = "rollout/ep_rew_mean";

/** Points kept per series; twice as many are halved. No chart is wider. */
export const MAX_POINTS = 400;

/** The server's snapshot as series; those that have a value everywhere share its axis. */
export function seriesFromSnapshot(
  snapshot: Pick<MetricsView, "agent_steps" | "seconds" | "updates" | "episodes" | "clock" | "series">,
): SeriesByName {
  const axes: Record<Place, readonly number[]> = {
    steps: snapshot.agent_steps,
    updates: snapshot.updates,
    episodes: snapshot.episodes,
    seconds: snapshot.seconds,
    clock: snapshot.seconds.map((seconds) => clockAt(snapshot.clock, seconds)),
  };
  return Object.fromEntries(
    snapshot.series.map(({ name, at, values, low, high }) => {
      const of = (place: Place) => (at === null ? axes[place] : at.map((index) => axes[place][index]));
      return [name, { name, ...forEachPlace(of), values, low, high }];
    }),
  );
}

/** The points of a snapshot as rows. */
export function rowsFromView({ updates, agent_steps, seconds, series }: MetricsView): MetricsRow[] {
  const rows = updates.map(
    (update, index): MetricsRow => ({
      update,
      agent_steps: agent_steps[index],
      seconds: seconds[index],
      values: {},
    }),
  );
  for (const { name, at, values } of series)
    values.forEach((value, index) => {
      rows[at?.[index] ?? index].values[name] = value;
    });
  return rows;
}

/** Unix time of a second of the run, by the newest session that had begun by then. */
function clockAt(sessions: MetricsView["clock"], seconds: number): number {
  const session = sessions.findLast((one) => one.seconds <= seconds) ?? sessions[0];
  return session === undefined ? seconds : session.unix_seconds + seconds - session.seconds;
}

function forEachPlace<T>(of: (place: Place) => T): Record<Place, T> {
  return Object.fromEntries(PLACES.map((place) => [place, of(place)])) as Record<Place, T>;
}

/**
 * `series` with the rows of later updates added. A row that is not later than what a metric already has is left out, so rows
 * may arrive twice; so are values that are not finite numbers. `now` is the Unix time of the newest row where no series has one.
 */
export function addRows(
  series: SeriesByName,
  rows: readonly MetricsRow[],
  maxPoints = MAX_POINTS,
  now = Date.now() / 1000,
): SeriesByName {
  const next: Record<string, Series> = { ...series };
  const grown = new Map<string, GrowingSeries>();
  const known = series[EPISODES] ?? Object.values(series)[0];
  let ended = known?.episodes.at(-1) ?? 0;
  const offset =
    known === undefined || known.clock.length === 0
      ? now - (rows.at(-1)?.seconds ?? 0)
      : known.clock[known.clock.length - 1] - known.seconds[known.seconds.length - 1];
  for (const row of rows) {
    const countedUntil = (grown.get(EPISODES) ?? known)?.steps.at(-1) ?? -1;
    if (row.agent_steps > countedUntil) ended += row.values[EPISODES] ?? 0;
    const places: Record<Place, number> = {
      steps: row.agent_steps,
      updates: row.update,
      episodes: ended,
      seconds: row.seconds,
      clock: row.seconds + offset,
    };
    for (const [name, value] of Object.entries(row.values)) {
      if (!Number.isFinite(value)) continue;
      const target = grown.get(name) ?? growingCopy(name, next[name]);
      if (row.agent_steps <= (target.steps.at(-1) ?? -1)) continue;
      grown.set(name, target);
      for (const place of PLACES) target[place].push(places[place]);
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

/** Episodes that ended in an update. */
const EPISODES = "rollout/episodes";

interface GrowingSeries extends Series, Record<Place, number[]> {
  steps: number[];
  updates: number[];
  episodes: number[];
  seconds: number[];
  clock: number[];
  values: number[];
  low: number[] | null;
  high: number[] | null;
}

/** One whose points stand for several values each. */
type Growing = GrowingSeries & { low: number[]; high: number[] };

function growingCopy(name: string, old: Series | undefined): GrowingSeries {
  return {
    name,
    ...forEachPlace((place) => [...(old?.[place] ?? [])]),
    values: [...(old?.values ?? [])],
    low: old?.low == null ? null : [...old.low],
    high: old?.high == null ? null : [...old.high],
  };
}

/** Neighbours merged in pairs: mean value, later position, widest range. An odd last point stays as it is. */
export function halve(series: Series): Series {
  const { steps, values } = series;
  const { low, high } = { low: series.low ?? values, high: series.high ?? values };
  const places = forEachPlace((): number[] => []);
  const merged: Growing = { name: series.name, ...places, values: [], low: [], high: [] };
  for (let i = 0; i < steps.length; i += 2) {
    const j = Math.min(i + 1, steps.length - 1);
    for (const place of PLACES) merged[place].push(series[place][j]);
    merged.values.push((values[i] + values[j]) / 2);
    merged.low.push(Math.min(low[i], low[j]));
    merged.high.push(Math.max(high[i], high[j]));
  }
  return merged;
}

/** More points of a part of a run, and all that were recorded from agent step `from` to `until`. */
export interface Detail {
  readonly series: SeriesByName;
  readonly from: number;
  readonly until: number;
}

/** The part of `snapshot` from agent step `from` to `to`; a run that is not there yet may go on before `to`. */
export function detailFrom(snapshot: MetricsView, from: number, to: number, newest: number): Detail {
  const until = to < newest ? to : (snapshot.last_steps ?? from);
  return { series: seriesFromSnapshot(snapshot), from, until };
}

/** `base` with the points of `detail` in place of its own. */
export function withDetail(base: Series, detail: Detail | null): Series {
  const part = detail?.series[base.name];
  if (detail === null || part === undefined || part.steps.length === 0) return base;
  const before = base.steps.findIndex((steps) => steps >= detail.from);
  const numBefore = before < 0 ? base.steps.length : before;
  const after = base.steps.findIndex((steps) => steps > detail.until);
  const join = (one: readonly number[], other: readonly number[]) => [
    ...one.slice(0, numBefore),
    ...other,
    ...(after < 0 ? [] : one.slice(after)),
  ];
  const hasBand = base.low !== null || part.low !== null;
  const band = (side: "low" | "high") => join(base[side] ?? base.values, part[side] ?? part.values);
  return {
    name: base.name,
    ...forEachPlace((place) => join(base[place], part[place])),
    values: join(base.values, part.values),
    low: hasBand ? band("low") : null,
    high: hasBand ? band("high") : null,
  };
}

/** The places of a series' points on an axis. */
export function placesOf(series: Series, axis: ChartAxis): readonly number[] {
  return axis === "time" ? series.seconds : series[axis];
}

/** First and last place of a series on an axis. */
export function spanOf(series: Series | undefined, axis: ChartAxis): [min: number, max: number] {
  const places = series === undefined ? [] : placesOf(series, axis);
  return [places[0] ?? 0, places[places.length - 1] ?? 0];
}

/** The place on one axis of what is at `place` on another, between points in proportion; undefined without any point. */
export function placeAlong(
  from: readonly number[],
  to: readonly number[],
  place: number,
): number | undefined {
  if (from.length === 0) return undefined;
  const after = from.findIndex((one) => one >= place);
  if (after < 0) return to[to.length - 1];
  if (after === 0) return to[0];
  const share = (place - from[after - 1]) / (from[after] - from[after - 1]);
  return to[after - 1] + share * (to[after] - to[after - 1]);
}

/** A line as it is drawn: x, then values, lowest and highest; null where nothing is drawn. */
export type Line = [
  x: readonly number[],
  values: readonly (number | null)[],
  low: readonly (number | null)[],
  high: readonly (number | null)[],
];

/** A time between two points is a gap if it is this many times the usual one ... */
const GAP_FACTOR = 8;
/** ... if it is also longer than this, in seconds. */
const GAP_SECONDS = 5;

/** `series` over `axis`. Over time the line breaks at long gaps without updates: the run was paused or had no workers. */
export function lineOf(series: Series, axis: ChartAxis): Line {
  const x = placesOf(series, axis);
  const low = series.low ?? [];
  const high = series.high ?? [];
  const isTime = axis === "time" || axis === "clock";
  const gap = isTime ? gapOf(x) : Number.POSITIVE_INFINITY;
  if (gap === Number.POSITIVE_INFINITY) {
    const none = series.low === null || series.high === null ? x.map(() => null) : [];
    return [x, series.values, series.low ?? none, series.high ?? none];
  }
  const line: GrowingLine = [[], [], [], []];
  for (let i = 0; i < x.length; i++) {
    if (i > 0 && x[i] - x[i - 1] > gap) addPoint(line, (x[i] + x[i - 1]) / 2, null, null, null);
    addPoint(line, x[i], series.values[i], low[i] ?? null, high[i] ?? null);
  }
  return line;
}

/** Steps at which updates went on after a long gap. */
export function pausesOf(series: Series | undefined): number[] {
  if (series === undefined) return [];
  const gap = gapOf(series.clock);
  return series.steps.filter((_, i) => i > 0 && series.clock[i] - series.clock[i - 1] > gap);
}

/** The shortest distance between two points that is a gap; infinite where none is. */
function gapOf(seconds: readonly number[]): number {
  const distances = seconds.slice(1).map((second, i) => second - seconds[i]);
  // Most runs have none, and the median of a long list takes much longer than this.
  if (!distances.some((distance) => distance > GAP_SECONDS)) return Number.POSITIVE_INFINITY;
  const median = distances.sort((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 0;
  return Math.max(GAP_SECONDS, GAP_FACTOR * median);
}

type GrowingLine = [number[], (number | null)[], (number | null)[], (number | null)[]];

function addPoint(
  line: GrowingLine,
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
