/** The ticked runs side by side: all their charts, final numbers, and the settings that differ. */

import type { RunRow } from "@attract/schema";
import { Anchor, Button, Checkbox, Table, Text } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { Part } from "../components/part.tsx";
import { StatePill } from "../components/state-pill.tsx";
import { type Compared, useCurves } from "../hooks/use-compared.ts";
import { useChartView } from "../hooks/use-in-address.ts";
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
      <Part mt={20} title="Final numbers">
        <RunsTable label="Numbers of each run" rows={rows} baseline={baseline} onChange={onChange}>
          {NUMBERS.map(({ title, numberOf, format, isBestLargest }) => {
            const values = rows.map(numberOf);
            const known = values.filter((value) => value !== null);
            const best = isBestLargest && new Set(known).size > 1 ? Math.max(...known) : null;
            return (
              <Table.Tr key={title}>
                <Table.Th scope="row">{title}</Table.Th>
                {rows.map((row, index) => (
                  <Best key={row.run_id} isBest={best !== null && values[index] === best}>
                    {format(values[index] ?? null)}
                    {baseline !== null && baseline !== row && (
                      <small className="soft">
                        {" "}
                        {differenceText(values[index] ?? null, numberOf(baseline), format)}
                      </small>
                    )}
                  </Best>
                ))}
              </Table.Tr>
            );
          })}
        </RunsTable>
      </Part>
      <Part mt={20} title="Settings that differ">
        {different.length === 0 ? (
          <Text c="dimmed">All settings of these runs are equal.</Text>
        ) : (
          <RunsTable label="Different settings of each run" rows={rows}>
            <Settings settings={different} rows={rows} />
          </RunsTable>
        )}
        <details>
          <summary>{plural(equal.length, "equal setting")}</summary>
          <RunsTable label="Equal settings of each run" rows={rows}>
            <Settings settings={equal} rows={rows} />
          </RunsTable>
        </details>
      </Part>
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

function Best({ isBest, children }: { isBest: boolean; children: ReactNode }) {
  return (
    <Table.Td c={isBest ? "var(--go)" : undefined} fw={isBest ? 650 : undefined} data-best={isBest}>
      {children}
    </Table.Td>
  );
}

function RunsTable({ label, rows, baseline = null, onChange, children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section style={{ overflowX: "auto" }} tabIndex={0} aria-label={label}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Td />
            {rows.map((row) => (
              <Table.Th key={row.run_id} scope="col">
                <Anchor href={formatRoute(runRoute(row.run_id))} inherit underline="hover">
                  {row.name || row.title}
                </Anchor>
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
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </section>
  );
}

function Settings({ settings, rows }: { settings: readonly ComparedSetting[]; rows: readonly RunRow[] }) {
  return settings.map(({ path, texts }) => (
    <Table.Tr key={path}>
      <Table.Th scope="row">
        <code>{path}</code>
      </Table.Th>
      {rows.map((row, index) => (
        <Table.Td key={row.run_id}>
          {row.changed.includes(path) ? <strong className="changed">{texts[index]}</strong> : texts[index]}
        </Table.Td>
      ))}
    </Table.Tr>
  ));
}
