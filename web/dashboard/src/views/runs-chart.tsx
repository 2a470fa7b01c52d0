/** One metric of several runs in one chart: a line each, or a band for each group of runs, such as the seeds of one setting. */

import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api } from "../api/client.ts";
import { useDefinitions } from "../hooks/use-definitions.ts";
import { REST_MS } from "../hooks/use-detail.ts";
import { ChartCursor } from "../state/chart-cursor.ts";
import { type ChartView, resolveRange, zoomedTo } from "../state/chart-view.ts";
import { extremesOf, tableOf } from "../state/drawn-lines.ts";
import { formatNumber } from "../state/format.ts";
import { panelOfMetric } from "../state/panels.ts";
import { type ChartRun, runLines } from "../state/run-lines.ts";
import {
  type Detail,
  detailFrom,
  MAX_POINTS,
  placeAlong,
  placesOf,
  type Series,
  seriesFromSnapshot,
} from "../state/series.ts";
import { Plot } from "./plot.tsx";

interface RunsChartProps {
  runs: readonly ChartRun[];
  metric: string;
  view: ChartView;
  /** Zoom was asked for by the pointer or keys. */
  onView: (view: ChartView) => void;
  /** How often running runs are requested again; left out: once. */
  everyMs?: number;
}

export function RunsChart({ runs, metric, view, onView, everyMs }: RunsChartProps) {
  const [cursor] = useState(() => new ChartCursor());
  const definitions = useDefinitions();
  const ids = runs.map(({ id }) => id);
  const { data: whole = null } = useQuery({
    queryKey: ["curves", metric, ...ids],
    queryFn: () => load(ids, metric),
    refetchInterval: everyMs ?? false,
  });
  const found = whole?.flatMap((series) => series ?? []) ?? [];
  const [min, max] = spanOf(found, view);
  const range = resolveRange(view.range, min, max);
  // Each run is asked, so not at every turn of the wheel.
  const [asked] = useDebouncedValue(`${view.axis} ${range?.join(" ")}`, REST_MS);
  const { data: detail = null } = useQuery({
    queryKey: ["parts", metric, asked, ...ids],
    queryFn: () => (range === null || whole === null ? null : loadPart(ids, metric, view, whole, range)),
    enabled: whole !== null,
  });
  const lines = useMemo(() => runLines(runs, whole, detail, view.axis), [runs, whole, detail, view.axis]);
  const panel = definitions === null ? null : panelOfMetric(definitions, metric);
  const seen = extremesOf(tableOf(lines, 0), range);
  return (
    <figure
      className="card chart-card"
      data-runs={runs.length}
      data-metric={metric}
      data-points={Math.max(0, ...lines.map(({ x }) => x.length))}
      data-low={seen?.[0]}
      data-high={seen?.[1]}
    >
      <figcaption className="chart-head">
        <h3>{panel?.title ?? metric}</h3>
      </figcaption>
      <ul className="chart-legend">
        {lines.map((line) => (
          <li key={line.id} style={{ "--series": line.color } as React.CSSProperties}>
            {line.name}{" "}
            <output aria-live="off" data-line={line.id}>
              {formatNumber(line.values.at(-1))}
            </output>
          </li>
        ))}
      </ul>
      <Plot
        id={`runs ${metric}`}
        title={panel?.title ?? metric}
        unit={panel?.unit ?? ""}
        lines={lines}
        axis={view.axis}
        range={range}
        smooth={view.smooth}
        isLog={(panel?.isLog ?? false) !== view.log.includes(metric)}
        isCut={view.isCut}
        nothing={whole === null ? "Loading" : "None of these runs has this metric"}
        cursor={cursor}
        onRange={(shown) => onView(zoomedTo(view, shown))}
      />
    </figure>
  );
}

/** The whole series of each run; undefined: it has none. */
async function load(ids: readonly string[], metric: string): Promise<(Series | undefined)[]> {
  return Promise.all(
    ids.map(async (id) =>
      filled(seriesFromSnapshot(await api.metrics(id, MAX_POINTS, { names: [metric] }))[metric]),
    ),
  );
}

async function loadPart(
  ids: readonly string[],
  metric: string,
  view: ChartView,
  whole: readonly (Series | undefined)[],
  range: readonly [number, number],
): Promise<(Detail | null)[]> {
  return Promise.all(
    ids.map(async (id, i) => {
      const series = whole[i];
      if (series === undefined) return null;
      const places = placesOf(series, view.axis);
      const [from, to] = range.map((place) => placeAlong(places, series.steps, place) ?? 0);
      const part = await api.metrics(id, MAX_POINTS, { names: [metric], from, to });
      return detailFrom(part, from, to, series.steps[series.steps.length - 1]);
    }),
  );
}

function filled(series: Series | undefined): Series | undefined {
  return series === undefined || series.values.length === 0 ? undefined : series;
}

function spanOf(series: readonly Series[], { axis }: ChartView): [min: number, max: number] {
  const places = series.map((one) => placesOf(one, axis));
  return [
    Math.min(...places.map((list) => list[0])),
    Math.max(...places.map((list) => list[list.length - 1])),
  ];
}
