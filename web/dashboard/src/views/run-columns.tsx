/** The columns of the table of runs; a group's cells have the mean of its runs. */

import type { EditLabels, RunRow } from "@attract/schema";
import { ActionIcon, Box, Group, Progress, UnstyledButton } from "@mantine/core";
import type { Column, Opening } from "../components/data-table.tsx";
import { ReturnCurve } from "../components/return-curve.tsx";
import { StatePill } from "../components/state-pill.tsx";
import { formatCount, formatDuration, formatNumber, plural } from "../state/format.ts";
import {
  differenceText,
  isLive,
  type Node,
  runsOf,
  settingText,
  shortName,
  summaryOf,
} from "../state/run-table.ts";
import { Action, Note, RunName, Star, Tags } from "./run-labels.tsx";

interface ColumnsOptions {
  /** Paths of settings that have a column each. */
  settings: readonly string[];
  ticked: ReadonlySet<string>;
  /** Whether labels may be changed. */
  isAdmin: boolean;
  /** Milliseconds since 1970. */
  now: number;
  edit: (run: RunRow, change: Partial<EditLabels>) => void;
  remove: (run: RunRow) => void;
  archive: (run: RunRow) => void;
  /** For runs in the trash, as is `erase`. */
  restore: (run: RunRow) => void;
  erase: (run: RunRow) => void;
  /** `isRange`: from the one ticked before. */
  tick: (node: Node<RunRow>, isRange: boolean) => void;
  tickAll: () => void;
  areAllTicked: boolean;
  /** Metrics that have a column each. */
  metrics: readonly { id: string; title: string }[];
  /** The run that others are compared with; null: none. */
  baseline: RunRow | null;
  /** Of a run's lines in the charts; null: it has none. */
  colourOf: (runId: string) => string | null;
  /** Runs whose lines are not drawn, and what changes that. */
  unseen: readonly string[];
  see: (runId: string) => void;
}

/** A title in brackets is read and not shown. */
export function runColumns(options: ColumnsOptions): Column<RunRow>[] {
  const { settings, ticked, isAdmin, now, edit, remove, archive, restore, erase, tick } = options;
  const number = numberWith(options.baseline);
  const editOf = (run: RunRow) => (isAdmin && !run.is_deleted ? edit : null);
  const columns: Column<RunRow>[] = [
    {
      id: "tick",
      title: "(Tick)",
      head: (
        <input
          type="checkbox"
          aria-label="Tick all runs"
          checked={options.areAllTicked}
          onChange={options.tickAll}
        />
      ),
      cell: (node) => {
        const rows = runsOf(node);
        const count = rows.filter(({ run_id }) => ticked.has(run_id)).length;
        return (
          <input
            type="checkbox"
            aria-label={`Tick ${labelOf(node)}`}
            checked={count === rows.length}
            ref={(box) => {
              if (box !== null) box.indeterminate = count > 0 && count < rows.length;
            }}
            onChange={({ nativeEvent }) => tick(node, (nativeEvent as MouseEvent).shiftKey)}
          />
        );
      },
    },
    {
      id: "star",
      title: "(Star)",
      cell: (node) => node.kind === "one" && <Star run={node.row} edit={editOf(node.row)} />,
    },
    {
      id: "run",
      title: "Run",
      sort: "name",
      cell: (node, opening) =>
        node.kind === "group" ? (
          <GroupName label={node.label} count={node.rows.length} opening={opening} />
        ) : (
          <>
            <Eye run={node.row} options={options} />
            <RunName run={node.row} now={now} edit={editOf(node.row)} />
          </>
        ),
    },
    number("return", "Return", "return", (run) => run.episode_return_mean, formatNumber),
    ...options.metrics.map(({ id, title }) =>
      number(id, title, id, (run) => run.metrics[id] ?? null, formatNumber),
    ),
    {
      id: "curve",
      title: "Curve",
      cell: (node) => <ReturnCurve curves={runsOf(node).map(({ sparkline }) => sparkline)} />,
    },
    {
      id: "state",
      title: "State",
      sort: "state",
      cell: (node) => (node.kind === "one" ? <State run={node.row} /> : liveText(node.rows)),
    },
    number("best", "Best", "best", (run) => run.return_best, formatNumber),
    number("eval", "Evaluated", "eval", (run) => run.return_eval, formatNumber),
    ...settings.map((path) => setting(path)),
    number("steps", "Steps", "steps", (run) => run.agent_steps, formatCount),
    number("time", "Time", "seconds", (run) => run.elapsed_seconds, formatDuration),
    {
      id: "seed",
      title: "Seed",
      sort: "seed",
      isNumber: true,
      cell: (node) => shared(runsOf(node).map(({ seed }) => String(seed))),
    },
    {
      id: "preset",
      title: "Preset",
      sort: "preset",
      cell: (node) => shared(runsOf(node).map(({ preset }) => preset ?? "–")),
    },
    {
      id: "tags",
      title: "Tags",
      cell: (node) => node.kind === "one" && <Tags run={node.row} edit={editOf(node.row)} />,
    },
    {
      id: "note",
      title: "Note",
      sort: "note",
      cell: (node) => node.kind === "one" && <Note run={node.row} edit={editOf(node.row)} />,
    },
  ];
  if (isAdmin)
    columns.push({
      id: "actions",
      title: "(Actions)",
      cell: (node) =>
        node.kind === "one" && (
          <Group component="span" gap={2} wrap="nowrap">
            {node.row.is_deleted ? (
              <>
                <Action title="Restore" onClick={() => restore(node.row)} />
                <Action title="Erase" onClick={() => erase(node.row)} />
              </>
            ) : (
              <>
                <Action
                  title={node.row.archived ? "Unarchive" : "Archive"}
                  onClick={() => archive(node.row)}
                />
                <Action title="Delete" disabled={isLive(node.row)} onClick={() => remove(node.row)} />
              </>
            )}
          </Group>
        ),
    });
  return columns;
}

/** Columns of numbers, each with its difference to that of the baseline. */
const numberWith =
  (baseline: RunRow | null) =>
  (
    id: string,
    title: string,
    sort: string,
    numberOf: (run: RunRow) => number | null,
    format: (value: number | null) => string,
  ): Column<RunRow> => ({
    id,
    title,
    sort,
    isNumber: true,
    cell: (node) => {
      if (node.kind === "one") {
        const value = numberOf(node.row);
        if (baseline === null || baseline.run_id === node.row.run_id) return format(value);
        return (
          <>
            {format(value)}
            <small>{differenceText(value, numberOf(baseline), format)}</small>
          </>
        );
      }
      const found = summaryOf(node.rows.map(numberOf));
      if (found === null) return format(null);
      return (
        <span title={`mean of ${plural(found.count, "run")}`}>
          {format(found.mean)}
          {format(found.min) !== format(found.max) && (
            <small>
              {format(found.min)} to {format(found.max)}
            </small>
          )}
        </span>
      );
    },
  });

/** Colour of a ticked run's lines; a press hides and shows them. */
function Eye({ run, options }: { run: RunRow; options: ColumnsOptions }) {
  const colour = options.colourOf(run.run_id);
  if (colour === null) return null;
  const isSeen = !options.unseen.includes(run.run_id);
  return (
    <ActionIcon
      mr={4}
      style={{ "--series": colour, verticalAlign: "middle" }}
      aria-pressed={isSeen}
      aria-label={`Draw ${run.name || run.run_id}`}
      title={isSeen ? "Hide its lines" : "Show its lines"}
      onClick={() => options.see(run.run_id)}
    >
      <Box
        component="span"
        w={12}
        h={12}
        bd={`2px solid ${colour}`}
        bg={isSeen ? colour : undefined}
        style={{ borderRadius: "50%" }}
      />
    </ActionIcon>
  );
}

function setting(path: string): Column<RunRow> {
  return {
    id: path,
    title: shortName(path),
    sort: path,
    isNumber: true,
    cell: (node) => {
      const rows = runsOf(node);
      const text = shared(rows.map((run) => settingText(run.settings[path])));
      const isChanged = rows.some((run) => run.changed.includes(path));
      return isChanged ? (
        <strong className="changed" title={`${path}, not as the game comes with it`}>
          {text}
        </strong>
      ) : (
        <span className="soft">{text}</span>
      );
    },
  };
}

function labelOf(node: Node<RunRow>): string {
  return node.kind === "group" ? node.label : node.row.name || node.row.run_id;
}

/** What all have, or how many different ones there are. */
function shared(texts: readonly string[]): string {
  const different = new Set(texts);
  return different.size === 1 ? (texts[0] ?? "–") : `${different.size} values`;
}

function liveText(rows: readonly RunRow[]): string {
  const live = rows.filter(isLive).length;
  return live === 0 ? "" : `${live} live`;
}

function State({ run }: { run: RunRow }) {
  return (
    <>
      <StatePill state={run.state} />
      {isLive(run) && run.progress !== null && (
        <Progress
          value={run.progress * 100}
          size="sm"
          mt={4}
          color="var(--go)"
          aria-label="Share of its steps"
        />
      )}
    </>
  );
}

function GroupName({ label, count, opening }: { label: string; count: number; opening: Opening }) {
  return (
    <UnstyledButton mih={24} fz="inherit" fw={650} aria-expanded={opening.isOpen} onClick={opening.toggle}>
      <span aria-hidden="true">{opening.isOpen ? "▾" : "▸"}</span> {label}{" "}
      <span className="soft">{plural(count, "run")}</span>
    </UnstyledButton>
  );
}
