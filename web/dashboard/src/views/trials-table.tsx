/** The trials of a study in the table of runs: a column for each setting that was searched, what differs from the defaults marked. */

import type { StudyTrial } from "@attract/schema";
import { Anchor } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { type Column, DataTable } from "../components/data-table.tsx";
import { formatRoute, runRoute } from "../routes.ts";
import { formatCount, formatNumber } from "../state/format.ts";
import { type Node, nextSort, settingText, shortName } from "../state/run-table.ts";
import { orderedTrials, searchedSettings } from "../state/study.ts";

const STATES: Readonly<Record<StudyTrial["state"], string>> = {
  running: "Running",
  finished: "Finished",
  pruned: "Ended early",
  failed: "Failed",
};

interface TrialsTableProps {
  trials: readonly StudyTrial[];
  winner: number | null;
  /** Ids of the runs that are kept of trials, by number. */
  runs: ReadonlyMap<number, string>;
}

export function TrialsTable({ trials, winner, runs }: TrialsTableProps) {
  const [sort, setSort] = useState("");
  const columns = columnsOf(trials, searchedSettings(trials), winner, runs);
  const nodes = useMemo(
    () =>
      orderedTrials(trials, sort).map(
        (row): Node<StudyTrial> => ({ kind: "one", id: String(row.number), row }),
      ),
    [trials, sort],
  );
  if (trials.length === 0) return <p className="soft">The first trial, of the defaults, is starting.</p>;
  return (
    <DataTable
      label="All trials"
      columns={columns}
      nodes={nodes}
      hidden={[]}
      sort={sort}
      onSort={(column) => setSort(nextSort(sort, column, ""))}
      marks={(node) => ({ front: node.kind === "one" && node.row.on_front })}
    />
  );
}

function TrialNumber({ number, runId }: { number: number; runId: string | undefined }) {
  return runId === undefined ? number : <Anchor href={formatRoute(runRoute(runId))}>{number}</Anchor>;
}

function columnsOf(
  trials: readonly StudyTrial[],
  paths: readonly string[],
  winner: number | null,
  runs: TrialsTableProps["runs"],
): Column<StudyTrial>[] {
  const defaults = trials.find(({ number }) => number === 0)?.settings ?? {};
  const cell = (show: (trial: StudyTrial) => ReactNode) => (node: Node<StudyTrial>) =>
    node.kind === "one" && show(node.row);
  return [
    {
      id: "trial",
      title: "Trial",
      sort: "trial",
      isNumber: true,
      cell: cell(({ number }) => <TrialNumber number={number} runId={runs.get(number)} />),
    },
    {
      id: "state",
      title: "State",
      cell: cell((trial) => (
        <>
          {trial.number === winner ? "Winner" : STATES[trial.state]}
          {trial.number === 0 && ", the defaults"}
          {trial.on_front && trial.number !== winner && ", on the front"}
          {trial.error !== null && <small className="bad">{trial.error}</small>}
        </>
      )),
    },
    {
      id: "score",
      title: "Score",
      sort: "score",
      isNumber: true,
      cell: cell((trial) => formatNumber(trial.score)),
    },
    {
      id: "seconds",
      title: "Seconds",
      sort: "seconds",
      isNumber: true,
      cell: cell((trial) => formatNumber(trial.seconds)),
    },
    {
      id: "steps",
      title: "Steps",
      sort: "steps",
      isNumber: true,
      cell: cell((trial) => formatCount(trial.agent_steps)),
    },
    ...paths.map(
      (path): Column<StudyTrial> => ({
        id: path,
        title: shortName(path),
        sort: path,
        isNumber: true,
        cell: cell((trial) => {
          const text = settingText(trial.settings[path]);
          return text === settingText(defaults[path]) ? (
            <span className="soft">{text}</span>
          ) : (
            <strong className="changed" title={`${path}, not as in the defaults`}>
              {text}
            </strong>
          );
        }),
      }),
    ),
  ];
}
