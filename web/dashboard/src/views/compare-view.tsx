/** Several runs side by side: curves, final numbers, and the settings that differ. */

import type { EpisodeEntry, RunRow, RunView } from "@attract/schema";
import { Anchor, Loader, useComputedColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { StatePill } from "../components/state-pill.tsx";
import { useChartView } from "../hooks/use-chart-view.ts";
import { useDefinitions } from "../hooks/use-definitions.ts";
import { goTo, replaceRoute } from "../hooks/use-route.ts";
import { formatRoute, type Route, runRoute } from "../routes.ts";
import { formatCount, formatDuration, formatNumber, plural } from "../state/format.ts";
import type { ChartRun } from "../state/run-lines.ts";
import {
  type ComparedSetting,
  compareSettings,
  differencesOf,
  groupRuns,
  isLive,
} from "../state/run-table.ts";
import { CHART_COLORS } from "../theme.ts";
import { ChartFields } from "./chart-controls.tsx";
import { RunsChart } from "./runs-chart.tsx";

const RELOAD_MS = 5000;
const MAX_RUNS = 12;

interface Compared {
  row: RunRow;
  run: RunView;
  episodes: readonly EpisodeEntry[];
}

type CompareRoute = Extract<Route, { view: "compare" }>;

export function CompareView({ route }: { route: CompareRoute }) {
  const { runs } = route;
  const ids = runs.slice(0, MAX_RUNS);
  const {
    data: value = null,
    error,
    refetch,
  } = useQuery({
    queryKey: ["compare", ...ids],
    queryFn: () => load(ids),
    refetchInterval: ({ state }) => state.data?.some(({ row }) => isLive(row)) !== false && RELOAD_MS,
  });
  return (
    <main id="content">
      <p className="back">
        <Anchor href={formatRoute({ view: "runs" })}>All runs</Anchor>
      </p>
      <h1>Compare {plural(ids.length, "run")}</h1>
      {runs.length > MAX_RUNS && (
        <p className="lede">
          The first {MAX_RUNS} of {runs.length} runs.
        </p>
      )}
      {ids.length < 2 && <p className="lede">Tick two or more runs in the table of runs.</p>}
      {error !== null && <ErrorNotice error={error} onRetry={refetch} />}
      {value === null && error === null && <Loader aria-label="Loading the runs" />}
      {value !== null && value.length > 0 && <Parts compared={value} route={route} />}
    </main>
  );
}

/** In the order of `ids`; rejects with ApiError where one of them is gone. */
async function load(ids: readonly string[]): Promise<Compared[]> {
  if (ids.length === 0) return [];
  const [list, ...views] = await Promise.all([
    api.runList({ q: `is:all id=${ids.join(",")}`, limit: MAX_RUNS }),
    ...ids.map((id) => Promise.all([api.run(id), api.episodes(id)])),
  ]);
  const rows = new Map(list.runs.map((row) => [row.run_id, row]));
  return views.flatMap(([run, episodes]) => {
    const row = rows.get(run.run_id);
    return row === undefined ? [] : [{ row, run, episodes }];
  });
}

interface PartsProps {
  compared: readonly Compared[];
  route: CompareRoute;
}

function Parts({ compared, route }: PartsProps) {
  const rows = compared.map(({ row }) => row);
  const { different, equal } = compareSettings(compared.map(({ run }) => run.settings));
  return (
    <>
      <Overlay rows={rows} route={route} />
      <section className="section card" aria-labelledby="numbers-title">
        <h2 id="numbers-title">Final numbers</h2>
        <Table label="Numbers of each run" rows={rows}>
          {NUMBERS.map(({ title, numberOf, format, isBestLargest }) => {
            const values = rows.map(numberOf);
            const known = values.filter((value) => value !== null);
            const best = isBestLargest && new Set(known).size > 1 ? Math.max(...known) : null;
            return (
              <tr key={title}>
                <th scope="row">{title}</th>
                {rows.map((row, index) => (
                  <td key={row.run_id} data-best={best !== null && values[index] === best}>
                    {format(values[index] ?? null)}
                  </td>
                ))}
              </tr>
            );
          })}
        </Table>
      </section>
      <section className="section card" aria-labelledby="settings-title">
        <h2 id="settings-title">Settings that differ</h2>
        {different.length === 0 ? (
          <p className="soft">All settings of these runs are equal.</p>
        ) : (
          <Table label="Different settings of each run" rows={rows}>
            <Settings settings={different} rows={rows} />
          </Table>
        )}
        <details>
          <summary>{plural(equal.length, "equal setting")}</summary>
          <Table label="Equal settings of each run" rows={rows}>
            <Settings settings={equal} rows={rows} />
          </Table>
        </details>
      </section>
      <SideBySide compared={compared} />
    </>
  );
}

/** One metric of all runs in one chart; the seeds of equal settings are one band where there are several settings. */
function Overlay({ rows, route }: { rows: readonly RunRow[]; route: CompareRoute }) {
  const { metric } = route;
  const [charts, onView] = useChartView(route);
  const metrics = useDefinitions()?.metrics ?? [];
  const colours = CHART_COLORS[useComputedColorScheme("light")].lines;
  const groups = groupRuns(rows, "seeds");
  const runs = groups.flatMap((node, index): ChartRun[] => {
    const members = node.kind === "group" ? node.rows : [node.row];
    const group = node.kind === "group" && groups.length > 1 ? bandName(node.rows, rows) : null;
    return members.map((row, place) => ({
      id: row.run_id,
      name: nameOf(row),
      colour: colours[(group === null ? index + place : index) % colours.length] ?? "#888888",
      ...(group === null ? {} : { group }),
    }));
  });
  return (
    <section className="section" aria-labelledby="curves-title">
      <h2 id="curves-title" className="section-title">
        Curves
      </h2>
      <div className="chart-controls" role="toolbar" aria-label="Curves">
        <label>
          Metric{" "}
          <select
            value={metric}
            onChange={({ currentTarget: { value } }) => replaceRoute({ ...route, metric: value })}
          >
            {metrics.every(({ name }) => name !== metric) && <option value={metric}>{metric}</option>}
            {metrics.map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <ChartFields view={charts} onView={onView} />
        {charts.range !== null && (
          <button type="button" onClick={() => onView({ ...charts, range: null })}>
            Show all
          </button>
        )}
      </div>
      <RunsChart
        runs={runs}
        metric={metric}
        view={charts}
        onView={onView}
        everyMs={rows.some(isLive) ? RELOAD_MS : undefined}
      />
    </section>
  );
}

function nameOf({ name, run_id }: RunRow): string {
  return name || run_id;
}

/** Runs of equal settings by what tells them from the others of `all`: "gamma 0.9, 3 seeds". */
function bandName(rows: readonly RunRow[], all: readonly RunRow[]): string {
  const games = new Set(all.map(({ game }) => game)).size > 1 ? rows.slice(0, 1) : [];
  return [...games.map(({ title }) => title), ...differencesOf(rows, all), `${rows.length} seeds`].join(", ");
}

const NUMBERS: readonly {
  title: string;
  numberOf: (row: RunRow) => number | null;
  format: (value: number | null) => string;
  isBestLargest: boolean;
}[] = [
  { title: "Return", numberOf: (row) => row.episode_return_mean, format: formatNumber, isBestLargest: true },
  { title: "Best return", numberOf: (row) => row.return_best, format: formatNumber, isBestLargest: true },
  { title: "Evaluated", numberOf: (row) => row.return_eval, format: formatNumber, isBestLargest: true },
  { title: "Steps", numberOf: (row) => row.agent_steps, format: formatCount, isBestLargest: false },
  { title: "Updates", numberOf: (row) => row.updates, format: formatCount, isBestLargest: false },
  { title: "Episodes", numberOf: (row) => row.episodes, format: formatCount, isBestLargest: false },
  { title: "Time", numberOf: (row) => row.elapsed_seconds, format: formatDuration, isBestLargest: false },
  {
    title: "Steps per second",
    numberOf: (row) => row.steps_per_second,
    format: formatCount,
    isBestLargest: true,
  },
];

function Table({ label, rows, children }: { label: string; rows: readonly RunRow[]; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section className="table-scroll" tabIndex={0} aria-label={label}>
      <table className="compare-table">
        <thead>
          <tr>
            <td />
            {rows.map((row) => (
              <th key={row.run_id} scope="col">
                <a className="run-name" href={formatRoute(runRoute(row.run_id))}>
                  {row.name || row.title}
                </a>
                <br />
                <small className="soft mono">{row.run_id}</small>
                <br />
                <StatePill state={row.state} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

function Settings({ settings, rows }: { settings: readonly ComparedSetting[]; rows: readonly RunRow[] }) {
  return settings.map(({ path, texts }) => (
    <tr key={path}>
      <th scope="row">
        <code>{path}</code>
      </th>
      {rows.map((row, index) => (
        <td key={row.run_id}>
          {row.changed.includes(path) ? <strong className="changed">{texts[index]}</strong> : texts[index]}
        </td>
      ))}
    </tr>
  ));
}

/** The episode page plays two side by side. */
function SideBySide({ compared }: { compared: readonly Compared[] }) {
  const [error, setError] = useState<unknown>(null);
  const [first, ...others] = compared;
  if (first === undefined) return null;
  const playable = evaluated(first).length === 0 ? [] : others.filter((other) => evaluated(other).length > 0);
  const play = async (other: Compared) => {
    const [own, beside] = await pairOf(first, other);
    goTo({
      view: "episode",
      runId: first.row.run_id,
      episodeId: own.id,
      at: null,
      beside: `${other.row.run_id}:${beside.id}`,
    });
  };
  return (
    <section className="section card" aria-labelledby="games-title">
      <h2 id="games-title">Two games side by side</h2>
      <p className="soft">
        {playable.length === 0
          ? "No two of these runs keep an evaluation episode each."
          : `An evaluation episode of ${nameOf(first.row)} beside one of the run you choose, of one seed where both keep one.`}
      </p>
      {error !== null && <ErrorNotice error={error} />}
      <div className="join-row">
        {playable.map((other) => (
          <ServerButton
            key={other.row.run_id}
            variant="default"
            size="xs"
            onClick={() => play(other).catch(setError)}
          >
            Play beside {nameOf(other.row)}
          </ServerButton>
        ))}
      </div>
    </section>
  );
}

const MAX_EPISODES = 12;

/** The newest evaluation episodes that can be played. */
function evaluated({ episodes }: Compared): readonly EpisodeEntry[] {
  return episodes
    .filter(({ source, problem }) => source === "evaluation" && problem === null)
    .slice(0, MAX_EPISODES);
}

/** Two evaluation episodes that began alike; where there are none the best of each. */
async function pairOf(first: Compared, second: Compared): Promise<[EpisodeEntry, EpisodeEntry]> {
  const seeded = await Promise.all(
    [first, second].map((one) =>
      Promise.all(
        evaluated(one).map(async (entry) => {
          const { seed, instance, episode } = await api.episode(one.row.run_id, entry.id);
          return { entry, key: JSON.stringify([seed, instance, episode]) };
        }),
      ),
    ),
  );
  const [own = [], others = []] = seeded;
  for (const { entry, key } of own) {
    const same = others.find((other) => other.key === key);
    if (same !== undefined) return [entry, same.entry];
  }
  const [a, b] = [own, others].map((all) =>
    all.reduce((best, one) => (one.entry.episode_return > best.entry.episode_return ? one : best)),
  );
  if (a === undefined || b === undefined) throw new RangeError("expected an evaluation episode of each run");
  return [a.entry, b.entry];
}
