/** Faults of a game, and notices, which are no faults; the server says which reports are one fault. */

import type { GameReport, RunView } from "@attract/schema";
import { wordsOf } from "./report-text.ts";

/** Said by the server: there is no stack, and no game that broke. */
const NOTICES = new Set([
  "verification",
  "audit",
  "bounds",
  "quarantine",
  "conduct",
  "strangers",
  "outside",
  "federated",
]);

/** Advice of a check is one, too. */
export function isNotice({ kind, severity }: Pick<GameReport, "kind" | "severity">): boolean {
  return NOTICES.has(kind) || severity === "warning";
}

/** Whether a fault's card says what the run's error is. */
export function isErrorShown(run: Pick<RunView, "error" | "reports">): boolean {
  return run.reports.some(({ run_error }) => run_error !== null && run_error === run.error);
}

/** "34 times in 3 workers, glass.ts:13:85"; "" for a fault that came once from an unknown place. */
export function whereText({ count, num_workers, place }: GameReport): string {
  const workers = num_workers < 2 ? "" : ` in ${num_workers} workers`;
  return [...(count < 2 ? [] : [`${count} times${workers}`]), ...(place === null ? [] : [place])].join(", ");
}

/** Where it was first seen: "worker 1, slot 0, episode 44, tick 5, seed b917c49edbc920e9"; "" where nothing is known. */
export function firstSeenText(report: GameReport): string {
  const named = (name: string, value: number | string | null) => (value === null ? [] : [`${name} ${value}`]);
  return [
    ...named("worker", report.worker_index === null ? null : report.worker_index + 1),
    ...named("slot", report.slot_id),
    ...named("episode", report.episode),
    ...named("tick", report.tick),
    ...named("seed", report.seed),
  ].join(", ");
}

/** A fault as Markdown for an issue tracker. */
export function issueText(report: GameReport, run: Pick<RunView, "title" | "game" | "run_id">): string {
  const where = whereText(report);
  const firstSeen = firstSeenText(report);
  const lines = [
    `**${run.title}: ${wordsOf(report)}**`,
    "",
    ...(where === "" ? [] : [`- ${where}`]),
    ...(firstSeen === "" ? [] : [`- first seen: ${firstSeen}`]),
    ...(report.step_values === null ? [] : [`- ${report.step_values}`]),
    `- game \`${withoutFolders(run.game)}\`, run \`${run.run_id}\``,
    ...(report.stack === null ? [] : ["", "```", report.stack, "```"]),
  ];
  return lines.join("\n");
}

/** The last part of an absolute path: the folders have the name of the user. */
function withoutFolders(path: string): string {
  return path.replace(/^(?:[A-Za-z]:)?[\\/].*[\\/]/, "");
}
