/** The part of charts that is zoomed to: its range in numbers, and more of its points once the zoom rests. */

import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { api } from "../api/client.ts";
import { type ChartAxis, type ChartView, resolveRange } from "../state/chart-view.ts";
import {
  type Detail,
  detailFrom,
  MAX_POINTS,
  placeAlong,
  placesOf,
  type Series,
  type SeriesByName,
  withDetail,
} from "../state/series.ts";

/** A run with its series. */
interface Source {
  readonly id: string;
  readonly series: SeriesByName;
}

export interface Zoomed<Run> {
  /** The runs with more points where they are zoomed to. */
  readonly runs: readonly Run[];
  /** First and last place of the x-axis. */
  readonly span: readonly [min: number, max: number];
  /** The part of it that is shown; null: all. */
  readonly range: readonly [number, number] | null;
}

/** A range that follows the newest point is asked for again this often. */
const FOLLOW_MS = 5000;
/** The pointer or a key has rested for so long. */
const REST_MS = 200;

/** `names`: the metrics that are shown. */
export function useDetail<Run extends Source>(
  runs: readonly Run[],
  view: ChartView,
  names: readonly string[],
): Zoomed<Run> {
  const longest = useMemo(() => runs.map(({ series }) => longestOf(series)), [runs]);
  const [min, max] = spanOf(longest, view.axis);
  const range = resolveRange(view.range, min, max);
  const follows = view.range !== null && "last" in view.range;
  // While a range that follows moves on, what was asked for last is kept: new points come by themselves.
  const wanted = range === null ? "" : follows ? JSON.stringify(view.range) : range.join(" ");
  const [asked] = useDebouncedValue([view.axis, wanted, [...names].sort().join(",")].join("\n"), REST_MS);
  // What is asked for again and again begins where the range begins by then.
  const now = useRef({ range, longest });
  now.current = { range, longest };
  const { data: details } = useQuery({
    queryKey: ["detail", ...runs.map(({ id }) => id), asked],
    queryFn: () => {
      const { range, longest } = now.current;
      const part = (run: Run, at: number) =>
        range && partOf(run.id, longest[at], view.axis, range, follows, names);
      return Promise.all(runs.map(part));
    },
    enabled: range !== null && names.length > 0,
    refetchInterval: follows && FOLLOW_MS,
    structuralSharing: false,
    gcTime: 0,
  });
  const isZoomed = range !== null;
  const zoomed = useMemo(() => {
    if (!isZoomed || details === undefined) return runs;
    return runs.map((run, at) => {
      const series = Object.values(run.series).map((one) => withDetail(one, details[at] ?? null));
      return { ...run, series: Object.fromEntries(series.map((one) => [one.name, one])) };
    });
  }, [runs, details, isZoomed]);
  return { runs: zoomed, span: [min, max], range };
}

async function partOf(
  runId: string,
  longest: Series | undefined,
  axis: ChartAxis,
  range: readonly [number, number],
  follows: boolean,
  names: readonly string[],
): Promise<Detail | null> {
  if (longest === undefined) return null;
  const places = placesOf(longest, axis);
  const [from, to] = range.map((place) => placeAlong(places, longest.steps, place) ?? 0) as [number, number];
  const end = follows ? undefined : to;
  const view = await api.metrics(runId, MAX_POINTS, { names, from, to: end });
  return detailFrom(view, from, end ?? Number.POSITIVE_INFINITY, longest.steps.at(-1) ?? 0);
}

function longestOf(series: SeriesByName): Series | undefined {
  return Object.values(series).reduce<Series | undefined>(
    (one, other) => (other.steps.length > (one?.steps.length ?? 0) ? other : one),
    undefined,
  );
}

function spanOf(longest: readonly (Series | undefined)[], axis: ChartAxis): [min: number, max: number] {
  const places = longest.flatMap((series) => (series === undefined ? [] : [placesOf(series, axis)]));
  if (places.length === 0) return [0, 1];
  return [
    Math.min(...places.map((list) => list[0] ?? 0)),
    Math.max(...places.map((list) => list[list.length - 1] ?? 0)),
  ];
}
