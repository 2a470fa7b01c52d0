/** What the page knows of one run, as a pure reducer over the snapshot and the server's events. */

import type {
  EpisodeEntry,
  FleetChanges,
  FleetView,
  GameReport,
  LessonView,
  MetricsRow,
  MetricsView,
  PolicyView,
  RunView,
} from "@attract/schema";
import { changeFleet } from "./fleet.ts";
import { formatCount, formatDuration, formatNumber, plural } from "./format.ts";
import { addRows, type SeriesByName, seriesFromSnapshot } from "./series.ts";

export type Connection = "connecting" | "live" | "lost";

export interface RunState {
  readonly run: RunView | null;
  readonly fleet: FleetView | null;
  readonly series: SeriesByName;
  /** Agent steps of the newest update in the snapshot, whose last points stand before it where they stand for several. */
  readonly snapshotSteps: number;
  /** Rows that came while a snapshot was asked for; null once it is there. */
  readonly early: readonly MetricsRow[] | null;
  /** The newest row that came: headline and curve are both of it. */
  readonly latest: MetricsRow | null;
  readonly reports: readonly GameReport[];
  /** The recorded episodes that the run keeps, newest first. */
  readonly episodes: readonly EpisodeEntry[];
  /** The newest announced version, or null before the first. */
  readonly policy: PolicyView | null;
  readonly connection: Connection;
}

export type RunEvent =
  | { type: "run"; run: RunView }
  | { type: "fleet"; fleet: FleetView }
  | { type: "fleet_changes"; changes: FleetChanges }
  /** A snapshot was requested; it may contain rows that also arrive from now on. */
  | { type: "waiting" }
  | { type: "snapshot"; metrics: MetricsView }
  | { type: "metrics"; rows: readonly MetricsRow[] }
  | { type: "report"; report: GameReport }
  /** In place of those so far. */
  | { type: "episodes"; entries: readonly EpisodeEntry[] }
  | { type: "episode"; entry: EpisodeEntry }
  | { type: "lesson"; lesson: LessonView }
  | { type: "policy"; policy: PolicyView }
  | { type: "connection"; connection: Connection };

export const EMPTY_RUN: RunState = {
  run: null,
  fleet: null,
  series: {},
  snapshotSteps: -1,
  early: [],
  latest: null,
  reports: [],
  episodes: [],
  policy: null,
  connection: "connecting",
};

/** The state after `event`; unchanged parts keep their identity. */
export function reduceRun(state: RunState, event: RunEvent): RunState {
  switch (event.type) {
    case "run": {
      const run = state.policy === null ? event.run : withVersion(event.run, state.policy);
      return {
        ...state,
        run: state.latest === null || isOver(event.run.state) ? run : withRow(run, state.latest),
        reports: mergeReports(state.reports, event.run.reports),
      };
    }
    case "fleet":
      return { ...state, fleet: event.fleet };
    case "fleet_changes":
      return state.fleet === null ? state : { ...state, fleet: changeFleet(state.fleet, event.changes) };
    case "waiting":
      return { ...state, early: [] };
    case "snapshot": {
      const start = seriesFromSnapshot(event.metrics);
      const snapshotSteps = event.metrics.last_steps ?? -1;
      const rows = laterThan(snapshotSteps, state.early ?? []);
      return { ...state, series: addRows(start, rows), snapshotSteps, early: null };
    }
    case "metrics": {
      const latest = event.rows.reduce(later, state.latest);
      const isAhead = latest !== null && latest.agent_steps > (state.run?.agent_steps ?? 0);
      const run = isAhead ? withRow(state.run, latest) : state.run;
      if (state.early !== null) return { ...state, run, latest, early: [...state.early, ...event.rows] };
      return {
        ...state,
        run,
        latest,
        series: addRows(state.series, laterThan(state.snapshotSteps, event.rows)),
      };
    }
    case "report":
      return { ...state, reports: mergeReports(state.reports, [event.report]) };
    case "episodes":
      return { ...state, episodes: event.entries };
    case "episode": {
      const { entry } = event;
      const isKnown = state.episodes.some(({ id }) => id === entry.id);
      const episodes = isKnown
        ? state.episodes.map((old) => (old.id === entry.id ? entry : old))
        : [entry, ...state.episodes];
      return { ...state, episodes };
    }
    case "lesson":
      return state.run === null ? state : { ...state, run: { ...state.run, lesson: event.lesson } };
    case "policy": {
      const isOlder = state.policy !== null && event.policy.policy_version < state.policy.policy_version;
      return isOlder ? state : { ...state, policy: event.policy, run: withVersion(state.run, event.policy) };
    }
    case "connection":
      return { ...state, connection: event.connection };
  }
}

/** The newest version whose models can be had; null: none. */
export function newestModel({ run, policy }: Pick<RunState, "run" | "policy">): number | null {
  if (run === null) return null;
  // What is kept of a run that is over is what was exported, which need not be its newest.
  if (isOver(run.state) || policy === null) return run.newest_model;
  return Math.max(policy.policy_version, run.newest_model ?? 0);
}

/** Workers that are there; null before the fleet is known. */
export function numWorkers(fleet: FleetView | null): number | null {
  if (fleet === null) return null;
  return fleet.hosts.flatMap((host) => host.workers).filter((worker) => worker.state !== "gone").length;
}

/** Whether the run waits only for workers. */
export function waitsForWorkers(run: RunView, fleet: FleetView | null): boolean {
  return (run.state === "running" || run.state === "evaluating") && numWorkers(fleet) === 0;
}

/** Steps per second: of the fleet over the last few seconds, as the fleet's card says; of a run that is over its mean. */
export function speedOf(run: RunView, fleet: FleetView | null): number {
  if (isOver(run.state)) return run.elapsed_seconds > 0 ? run.agent_steps / run.elapsed_seconds : 0;
  // The mean of the last seconds falls slowly; without workers the speed is 0 at once.
  return numWorkers(fleet) === 0 ? 0 : (fleet?.steps_per_second ?? run.steps_per_second);
}

/** The number of updates, to the digit as the version is; null where both are one number. */
export function updatesText({ updates, policy_version }: RunView): string | null {
  return updates === policy_version ? null : String(updates);
}

/** What the fleet was asked for, or sent, in vain: `, ` before each part; empty: nothing. */
export function discardedText({ leases_lapsed, blocks_refused, sockets_refused }: FleetView): string {
  const parts: readonly [number, string, string][] = [
    [leases_lapsed, "task", "not returned in time"],
    [blocks_refused, "result", "discarded"],
    [sockets_refused, "connection", "refused"],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, noun, what]) => `, ${plural(count, noun)} ${what}`)
    .join("");
}

/** Colour of a state; "done": it came to its end. */
export type Tone = "go" | "wait" | "bad" | "done" | "none";

const LOOKS: Readonly<Record<RunView["state"], readonly [word: string, tone: Tone]>> = {
  starting: ["Starting", "wait"],
  running: ["Training", "go"],
  paused: ["Paused", "wait"],
  evaluating: ["Evaluating", "go"],
  finished: ["Finished", "done"],
  stopped: ["Stopped", "none"],
  failed: ["Failed", "bad"],
  damaged: ["Damaged", "bad"],
};

/** What a run is doing; `isWaiting`: only workers are missing. */
export function lookOf(state: RunView["state"], isWaiting = false): readonly [text: string, tone: Tone] {
  return isWaiting ? ["Waiting for workers", "wait"] : LOOKS[state];
}

/** Whether anything more will happen in this run. */
export function isOver(state: RunView["state"]): boolean {
  return state === "finished" || state === "stopped" || state === "failed";
}

/** What `progress_share` measures, with both numbers; null where there is nothing to reach. */
export function progressText(run: RunView): string | null {
  if (run.goal !== null)
    return `Return ${formatNumber(run.episode_return_mean)} of ${formatNumber(run.goal)}`;
  if (run.total_steps !== null && run.total_steps > 0)
    return `${formatCount(run.agent_steps)} of ${formatCount(run.total_steps)} steps`;
  return null;
}

/** "about 0:40 left"; a run with a goal may reach it sooner. Null where it is over, or that is unknown. */
export function timeLeftText(run: RunView): string | null {
  const seconds = isOver(run.state) ? null : run.remaining_seconds;
  if (seconds === null) return null;
  return `${run.goal === null ? "about" : "at most"} ${formatDuration(seconds)} left`;
}

/** Reports by place and text; the one that counts more replaces the other. */
function mergeReports(old: readonly GameReport[], more: readonly GameReport[]): readonly GameReport[] {
  if (more.length === 0) return old;
  const byKey = new Map(old.map((report) => [reportKey(report), report]));
  for (const report of more) {
    const known = byKey.get(reportKey(report));
    if (known === undefined || report.count >= known.count) byKey.set(reportKey(report), report);
  }
  return [...byKey.values()];
}

/** Two reports with the same key are the same fault seen again. */
export function reportKey({ fault_id, kind, name, text }: GameReport): string {
  return fault_id || `${kind}\n${name}\n${text}`;
}

function laterThan(steps: number, rows: readonly MetricsRow[]): readonly MetricsRow[] {
  return rows.filter((row) => row.agent_steps > steps);
}

function later(one: MetricsRow | null, other: MetricsRow): MetricsRow {
  return one === null || other.agent_steps > one.agent_steps ? other : one;
}

/** The headline numbers are those of the curve's end, without waiting for the next whole view. */
function withRow(run: RunView | null, row: MetricsRow): RunView | null {
  if (run === null) return run;
  const mean = row.values["rollout/ep_rew_mean"];
  return {
    ...run,
    agent_steps: row.agent_steps,
    updates: row.update,
    episode_return_mean: Number.isFinite(mean) ? mean : run.episode_return_mean,
  };
}

function withVersion(run: RunView | null, { policy_version: version }: PolicyView): RunView | null {
  return run === null || version <= run.policy_version ? run : { ...run, policy_version: version };
}
