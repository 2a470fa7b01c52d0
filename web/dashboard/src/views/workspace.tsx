/** The ticked runs side by side: all their charts, final numbers, and the settings that differ. */

import type { RunRow } from "@attract/schema";
import { Button, Checkbox } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { StatePill } from "../components/state-pill.tsx";
import { useChartView } from "../hooks/use-chart-view.ts";
import { type Compared, useCurves } from "../hooks/use-compared.ts";
import { formatRoute, type Route, runRoute } from "../routes.ts";
import { formatCount, formatDuration, formatNumber, plural } from "../state/format.ts";
import type { ChartRun } from "../state/run-lines.ts";
import { type ComparedSetting, compareSettings, differenceText, type TableView } from "../state/run-table.ts";
import { RETURN } from "../state/series.ts";
import { Charts, shownMetrics, useGroups } from "./charts.tsx";
import { SideBySide } from "./side-by-side.tsx";

/** Runs that are compared at once. */
export const MAX_RUNS = 12;

interface WorkspaceProps {
  route: Extract<Route, { view: "runs" }>;
  view: TableView;
  compared: readonly Compared[];
  /** Their colours and groups. */
  styles: readonly Omit<ChartRun, "series">[];
  onChange: (change: Partial<TableView>) => void;
}

export function Workspace({ route, view, compared, styles, onChange }: WorkspaceProps) {
  const rows = compared.map(({ row }) => row);
  const { different, equal } = compareSettings(compared.map(({ run }) => run.settings));
  const baseline = rows.find(({ run_id }) => run_id === view.baseline) ?? null;
  return (
    <>
      <Curves route={route} view={view} rows={rows} styles={styles} onChange={onChange} />
      <section className="section card" aria-labelledby="numbers-title">
        <h2 id="numbers-title">Final numbers</h2>
        <Table label="Numbers of each run" rows={rows} baseline={baseline} onChange={onChange}>
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
                    {baseline !== null && baseline !== row && (
                      <small className="soft">
                        {" "}
                        {differenceText(values[index] ?? null, numberOf(baseline), format)}
                      </small>
                    )}
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

/** Every metric of the runs that are seen; the seeds of equal settings are one band where there are several settings. */
function Curves({
  route,
  view,
  rows,
  styles,
  onChange,
}: Omit<WorkspaceProps, "compared"> & { rows: readonly RunRow[] }) {
  const [charts, onView] = useChartView(route);
  const { baseline, isDifference, unseen } = view;
  const [known, setKnown] = useState<readonly string[]>([RETURN]);
  const wanted = shownMetrics(useGroups(known), charts);
  const { curves, areWhole } = useCurves(rows, wanted.length === 0 ? [RETURN] : wanted);
  const names = [...new Set([...curves.values()].flatMap((one) => one.names))];
  if (curves.size > 0 && [...names].sort().join() !== [...known].sort().join()) setKnown(names);
  const isBased = isDifference && styles.some(({ id }) => id === baseline);
  const runs = useMemo(
    () =>
      styles
        .filter(({ id }) => !unseen.includes(id))
        .map((style): ChartRun => {
          // Differences are of single runs.
          const { group: _, ...single } = style;
          return { ...(isBased ? single : style), series: curves.get(style.id)?.series ?? {} };
        }),
    [styles, unseen, curves, isBased],
  );
  return (
    <>
      {baseline !== "" && (
        <Checkbox
          size="xs"
          mb={12}
          label={`Charts show the difference to ${styles.find(({ id }) => id === baseline)?.name ?? baseline}`}
          checked={isDifference}
          onChange={() => onChange({ isDifference: !isDifference })}
        />
      )}
      <Charts
        name={rows.map(({ run_id }) => run_id).join("-")}
        runs={runs}
        names={known}
        view={charts}
        onView={onView}
        marks={null}
        baseline={isBased ? baseline : null}
        nothing={areWhole ? "None of these runs has this metric" : "Loading"}
      />
    </>
  );
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

interface TableProps {
  label: string;
  rows: readonly RunRow[];
  baseline?: RunRow | null;
  /** Chooses the baseline. */
  onChange?: WorkspaceProps["onChange"];
  children: ReactNode;
}

function Table({ label, rows, baseline = null, onChange, children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section className="table-scroll" tabIndex={0} aria-label={label}>
      <table className="plain-table compare-table">
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
                {onChange !== undefined && (
                  <Button
                    size="compact-xs"
                    variant={baseline === row ? "filled" : "default"}
                    aria-pressed={baseline === row}
                    aria-label={`Baseline: ${row.name || row.run_id}`}
                    onClick={() =>
                      onChange(
                        baseline === row ? { baseline: "", isDifference: false } : { baseline: row.run_id },
                      )
                    }
                  >
                    Baseline
                  </Button>
                )}
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
