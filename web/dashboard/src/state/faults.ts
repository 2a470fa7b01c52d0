/** Faults of a game, of which each may have come as several reports; and notices, which are no faults. */

import type { GameReport, RunView } from "@attract/schema";
import { ownStack, wordsOf } from "./report-text.ts";

export interface Fault {
  /** The report to show: the first that says where it came. */
  report: GameReport;
  numTimes: number;
  numWorkers: number;
  /** The line of the game's own source: `glass.ts:13:85`; null where none is known. */
  place: string | null;
  /** What to do about it; null where that is not known. */
  fix: string | null;
  /** The recorded episode that failed; null: none is kept. */
  episodeId: string | null;
  /** Whether a worker ended because of it. */
  endsWorkers: boolean;
}

/** Said by the server: there is no stack, and no game that broke. */
const NOTICES = new Set([
  "verification",
  "audit",
  "bounds",
  "quarantine",
  "conduct",
  "strangers",
  "federated",
]);

/** What counts a fault instead of being one more of it. */
const SUMMARIES = new Set(["check", "crash"]);

/** How a worker and its page wrap the words of a fault that repeats. */
const WRAPPERS = [
  /^worker \d+ broke three times within a minute and is not started again; last: /,
  /^the game failed \d+ times \(\w+\), the last time with: /,
];

const NUMBER = /(?<![\w.])-?\d[\d.]*(?:e[+-]?\d+)?(?!\w)/g;

export function isNotice(report: Pick<GameReport, "kind">): boolean {
  return NOTICES.has(report.kind);
}

/** The faults among these reports, oldest first. */
export function faultsOf(reports: readonly GameReport[]): readonly Fault[] {
  const groups: GameReport[][] = [];
  for (const report of reports.filter((one) => !isNotice(one))) {
    const group = groups.find((known) => known.some((one) => isSameFault(one, report)));
    if (group === undefined) groups.push([report]);
    else group.push(report);
  }
  return groups.map(faultOf);
}

/** Whether `text`, such as a run's error, says no more than this fault. */
export function covers(fault: Fault, text: string): boolean {
  return coreOf(text).includes(coreOf(fault.report.text));
}

/** "34 times in 3 workers"; null for a fault that came once. */
export function timesText({ numTimes, numWorkers }: Fault): string | null {
  if (numTimes < 2) return null;
  return numWorkers < 2 ? `${numTimes} times` : `${numTimes} times in ${numWorkers} workers`;
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
export function issueText(fault: Fault, run: Pick<RunView, "title" | "game" | "run_id">): string {
  const { report } = fault;
  const times = [timesText(fault), fault.place].filter((part) => part !== null).join(", ");
  const firstSeen = firstSeenText(report);
  const lines = [
    `**${run.title}: ${wordsOf(report)}**`,
    "",
    ...(times === "" ? [] : [`- ${times}`]),
    ...(firstSeen === "" ? [] : [`- first seen: ${firstSeen}`]),
    ...(report.step_values === null ? [] : [`- ${report.step_values}`]),
    `- game \`${run.game}\`, run \`${run.run_id}\``,
    ...(report.stack === null ? [] : ["", "```", ownStack(report.stack), "```"]),
  ];
  return lines.join("\n");
}

function faultOf(reports: readonly GameReport[]): Fault {
  const report = reports.find((one) => one.seed !== null && one.kind !== "crash") ?? reports[0];
  const single = reports.filter(({ kind }) => !SUMMARIES.has(kind));
  const counted = single.length > 0 ? single : reports;
  return {
    report,
    numTimes: counted.reduce((sum, { count }) => sum + count, 0),
    numWorkers: Math.max(...reports.map(({ num_workers }) => num_workers)),
    place: placeOf(report),
    fix: reports.find(({ fix }) => fix !== null)?.fix ?? null,
    episodeId: reports.find(({ episode_id }) => episode_id !== null)?.episode_id ?? null,
    endsWorkers: reports.length > 1 && reports.some(({ kind }) => kind === "crash"),
  };
}

/** The same words but for counts and wrappers, thrown by the same line where both say by which. */
function isSameFault(one: GameReport, other: GameReport): boolean {
  const [place, otherPlace] = [placeOf(one), placeOf(other)];
  if (place !== null && otherPlace !== null && place !== otherPlace) return false;
  const [core, otherCore] = [coreOf(one.text), coreOf(other.text)];
  return one.kind === "check" || other.kind === "check"
    ? core.includes(otherCore) || otherCore.includes(core)
    : core === otherCore;
}

function coreOf(text: string): string {
  return WRAPPERS.reduce((left, wrapper) => left.replace(wrapper, ""), text).replace(NUMBER, "#");
}

/** File, line and column of the stack's first frame. */
function placeOf({ stack }: Pick<GameReport, "stack">): string | null {
  const frame =
    stack === null
      ? undefined
      : ownStack(stack)
          .split("\n")
          .find((line) => line.trim().startsWith("at "));
  return /([^\s()]+:\d+:\d+)\)?$/.exec(frame?.trim() ?? "")?.[1] ?? null;
}
