/** What broke in the game, in the words of the game, and where to find it again. */

import type { GameReport } from "@attract/schema";
import { ownStack, wordsOf } from "../state/report-text.ts";
import { reportKey } from "../state/run-state.ts";

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
};

export function Reports({ reports }: { reports: readonly GameReport[] }) {
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
            report.kind !== "check" && (
              <p className="soft">
                {report.kind === "hang" ? "A hang has no stack." : "No stack came with it."}
              </p>
            )
          )}
        </div>
      ))}
    </section>
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
