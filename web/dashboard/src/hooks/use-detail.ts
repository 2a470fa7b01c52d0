/** The series of a run as a zoomed chart needs them: with the points between, which the server is asked for. */

import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { api } from "../api/client.ts";
import { type ChartView, resolveRange } from "../state/chart-view.ts";
import {
  detailFrom,
  MAX_POINTS,
  placeAlong,
  placesOf,
  type SeriesByName,
  withDetail,
} from "../state/series.ts";

export interface Zoomed {
  readonly series: SeriesByName;
  /** First and last place of the x-axis. */
  readonly span: readonly [min: number, max: number];
  /** The part of it that is shown; null: all. */
  readonly range: readonly [number, number] | null;
}

/** A range that follows the newest point is asked for again this often. */
const FOLLOW_MS = 5000;
/** The pointer or a key has rested for so long. */
export const REST_MS = 200;

export function useDetail(
  runId: string,
  series: SeriesByName,
  view: ChartView,
  names: readonly string[],
): Zoomed {
  const longest = useMemo(
    () =>
      Object.values(series).reduce(
        (one, other) => (other.steps.length > one.steps.length ? other : one),
        NOTHING,
      ),
    [series],
  );
  const places = placesOf(longest, view.axis);
  const [min, max] = places.length === 0 ? [0, 1] : [places[0], places[places.length - 1]];
  const range = resolveRange(view.range, min, max);
  const follows = view.range !== null && "last" in view.range;
  const [from, to] = range?.map((place) => placeAlong(places, longest.steps, place)) ?? [];
  // While a range that follows moves on, what was asked for last is kept: new points come by themselves.
  const wanted =
    from === undefined || to === undefined
      ? ""
      : follows
        ? `last ${JSON.stringify(view.range)}`
        : `${from} ${to}`;
  const [asked] = useDebouncedValue(`${wanted}\n${[...names].sort().join(",")}`, REST_MS);
  // What is asked for again and again begins where the range begins by then.
  const start = useRef(from);
  start.current = from;
  const { data: detail = null } = useQuery({
    queryKey: ["detail", runId, asked],
    queryFn: async () => {
      const from = start.current;
      if (from === undefined || to === undefined || asked.startsWith("\n") || names.length === 0) return null;
      const end = follows ? undefined : to;
      const view = await api.metrics(runId, MAX_POINTS, { names, from, to: end });
      return detailFrom(view, from, end ?? Number.POSITIVE_INFINITY, longest.steps.at(-1) ?? 0);
    },
    refetchInterval: follows && FOLLOW_MS,
    structuralSharing: false,
    gcTime: 0,
  });
  const isZoomed = range !== null;
  const whole = useMemo(() => {
    if (!isZoomed || detail === null) return series;
    return Object.fromEntries(Object.values(series).map((one) => [one.name, withDetail(one, detail)]));
  }, [series, detail, isZoomed]);
  return { series: whole, span: [min, max], range };
}

const NOTHING = {
  name: "",
  steps: [],
  updates: [],
  episodes: [],
  seconds: [],
  clock: [],
  values: [],
  low: null,
  high: null,
};
