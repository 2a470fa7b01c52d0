/** What broke in the game, in the words of the game, and where to find it again. */

import type { GameReport, RunView } from "@attract/schema";
import { useState } from "react";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { ownStack, wordsOf } from "../state/report-text.ts";
import { isOver, reportKey } from "../state/run-state.ts";

const KINDS: Readonly<Record<string, string>> = {
  load: "The game could not be loaded",
  throw: "The game threw an error",
  hang: "The game stopped answering",
  shape: "The game returned the wrong shape",
  nan: "The game returned a number that is not finite",
  invalid: "The game returned something unusable",
  crash: "The worker crashed",
  policy: "A worker cannot run the policy",
  update: "An update was undone",
  verification: "Experience was left out",
  check: "Found by a check of the game",
  audit: "What guests play",
  bounds: "What guests play",
  quarantine: "Somebody is left out",
  conduct: "Somebody plays again",
  strangers: "Nobody of your own is here",
  federated: "Averaging with other trainers",
};

/** Said by the server: there is no stack, and no game that broke. */
const NOTES = new Set([
  "verification",
  "check",
  "audit",
  "bounds",
  "quarantine",
  "conduct",
  "strangers",
  "federated",
]);

interface ReportsProps {
  reports: readonly GameReport[];
  run: RunView;
  onChange: (run: RunView) => void;
}

export function Reports({ reports, run, onChange }: ReportsProps) {
  if (reports.length === 0) return null;
  return (
    <section aria-label="Reports" className="reports">
      {reports.map((report) => (
        <div key={reportKey(report)} className="card report" role="alert">
          <h2>{titleOf(report)}</h2>
          <p>
            <strong>{wordsOf(report)}</strong>
          </p>
          <p className="soft">{placeOf(report)}</p>
          {report.step_values !== null && <p className="soft">{report.step_values}</p>}
          {report.fix !== null && <p>{report.fix}</p>}
          {report.stack !== null ? (
            <pre>{ownStack(report.stack)}</pre>
          ) : (
            !NOTES.has(report.kind) && (
              <p className="soft">
                {report.kind === "hang" ? "A hang has no stack." : "No stack came with it."}
              </p>
            )
          )}
          {typeof report.rollback_to === "number" && (
            <RollBack run={run} version={report.rollback_to} onChange={onChange} />
          )}
        </div>
      ))}
    </section>
  );
}

/** Back to the version before a guest's first share; only a run that is over can go back. */
function RollBack({
  run,
  version,
  onChange,
}: {
  run: RunView;
  version: number;
  onChange: ReportsProps["onChange"];
}) {
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [isDone, setDone] = useState(false);
  const goBack = async () => {
    setPending(true);
    setError(null);
    try {
      onChange(await api.rollBack(run.run_id, version));
      setDone(true);
    } catch (problem) {
      setError(problem);
    }
    setPending(false);
  };
  if (isDone) {
    return (
      <p role="status">
        The run is back at version {version} or the nearest one kept; what it exported was set aside. Its
        numbers here are those of before, until it goes on: <br />
        <code>attract train --resume --run-id {run.run_id}</code>
      </p>
    );
  }
  return (
    <>
      <ServerButton variant="default" loading={isPending} disabled={!isOver(run.state)} onClick={goBack}>
        Go back to version {version}
      </ServerButton>
      {!isOver(run.state) && <p className="soft">Stop the run first.</p>}
      {error !== null && <ErrorNotice error={error} />}
    </>
  );
}

function titleOf(report: GameReport): string {
  const text = KINDS[report.kind] ?? "The game broke";
  return report.count > 1 ? `${text}, ${report.count} times` : text;
}

function placeOf(report: GameReport): string {
  const parts = [
    named("Worker", report.worker_index === null ? null : report.worker_index + 1),
    named("slot", report.slot_id),
    named("episode", report.episode),
    named("tick", report.tick),
    report.seed === null ? null : `seed ${report.seed}`,
  ].filter((part) => part !== null);
  return parts.join(", ");
}

function named(name: string, value: number | null): string | null {
  return value === null ? null : `${name} ${value}`;
}
