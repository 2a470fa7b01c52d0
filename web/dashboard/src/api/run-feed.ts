/**
 * One run as it comes from the server: a snapshot, then its events; after every cut of the stream a snapshot again. A hidden
 * page has no stream: it asks now and then how the run stands, and takes a snapshot when it is seen again.
 */

import type {
  EpisodeEntry,
  FleetChanges,
  FleetView,
  GameReport,
  LessonView,
  MetricNames,
  MetricRows,
  MetricsRow,
  PolicyView,
  RunView,
} from "@attract/schema";
import { isOver, type RunEvent } from "../state/run-state.ts";
import { MAX_POINTS, rowsFromView } from "../state/series.ts";
import { api, isNoAnswer, runPath, serverUrl } from "./client.ts";

/** The server sends several events each time: they are gathered this long, and the page is drawn once ... */
const FLUSH_MS = 20;
/** ... this often: all numbers and curves of the page change together; what people wait for comes sooner. */
const BETWEEN_FLUSHES_MS = 2000;
const SOONER_MS = 500;
const RETRY_MS = 2000;
/** The whole view is asked for this often: events bring it only when the run's state changes. */
const VIEW_MS = 2000;
/** And this often while the page is hidden: its title says how the run stands. */
const HIDDEN_VIEW_MS = 10_000;

/** Listens to a run until the returned function is called. */
export function followRun(
  runId: string,
  onEvents: (events: RunEvent[]) => void,
  onError: (error: unknown) => void,
): () => void {
  let waiting: RunEvent[] = [];
  let rows: MetricsRow[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let flushed = Number.NEGATIVE_INFINITY;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let retrySnapshot: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource | undefined;
  /** Episodes that were kept since the list of them was asked for. */
  let newEpisodes: EpisodeEntry[] = [];
  let isEnded = false;
  let isFollowed = false;
  /** Whether there is no stream because the page is hidden. */
  let isAway = false;
  /** Whether another process trains it, of whose rows this server sends no events. */
  let isElsewhere = false;
  /** Agent steps of the newest row of a snapshot. */
  let lastSteps = 0;
  /** When the whole view was asked for last, in ms. */
  let viewAsked = 0;
  /** Columns of the rows that come. */
  let names: readonly string[] = [];
  /** Counts the snapshots that were asked for: the answer to an earlier one is no longer wanted. */
  let snapshot = 0;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    flushed = performance.now();
    const events = rows.length === 0 ? waiting : [...waiting, { type: "metrics", rows } as const];
    waiting = [];
    rows = [];
    if (events.length > 0) onEvents(events);
  };
  const schedule = (between = BETWEEN_FLUSHES_MS) => {
    if (between === SOONER_MS) clearTimeout(timer);
    else if (timer !== undefined) return;
    timer = setTimeout(flush, Math.max(FLUSH_MS, flushed + between - performance.now()));
  };
  const put = (event: RunEvent, between = SOONER_MS) => {
    waiting.push(event);
    schedule(between);
  };

  // The stream opens first and the snapshot is asked for after it, so that no row falls between the two. The server repeats
  // only the newest events of those that were missed: after a cut everything is asked for again.
  const open = () => {
    isAway = document.hidden;
    if (isAway) return;
    source = new EventSource(serverUrl(runPath(runId, "/events")));
    source.addEventListener("open", () => {
      put({ type: "connection", connection: "live" });
      takeSnapshot();
    });
    source.addEventListener("error", () => {
      put({ type: "connection", connection: "lost" });
      if (source?.readyState === EventSource.CLOSED && !isEnded) retry = setTimeout(open, RETRY_MS);
    });
    on<RunView>(source, "status", (run) => put({ type: "run", run }));
    on<FleetView>(source, "fleet", (fleet) => put({ type: "fleet", fleet }, BETWEEN_FLUSHES_MS));
    on<GameReport>(source, "report", (report) => put({ type: "report", report }));
    on<EpisodeEntry>(source, "episode", (entry) => {
      newEpisodes.push(entry);
      put({ type: "episode", entry });
    });
    on<LessonView>(source, "lesson", (lesson) => put({ type: "lesson", lesson }));
    on<PolicyView>(source, "policy", (policy) => put({ type: "policy", policy }, BETWEEN_FLUSHES_MS));
    on<FleetChanges>(source, "fleet_changes", (changes) =>
      put({ type: "fleet_changes", changes }, BETWEEN_FLUSHES_MS),
    );
    on<MetricNames>(source, "metric_names", (header) => {
      names = header.names;
    });
    on<MetricRows>(source, "metrics", (more) => {
      for (const row of more.rows) rows.push(rowOf(row, names));
      schedule();
    });
  };

  const onVisibility = () => {
    if (!document.hidden && isAway) {
      isAway = false;
      // It may have ended meanwhile.
      if (isFollowed) open();
      else takeSnapshot();
    } else if (document.hidden && isFollowed) {
      isAway = true;
      source?.close();
      clearTimeout(retry);
      clearTimeout(retrySnapshot);
      // One that is under way would be drawn unseen.
      snapshot += 1;
    }
  };

  /** Until its answer is there, rows that come are kept apart. */
  const takeSnapshot = () => {
    clearTimeout(retrySnapshot);
    flush();
    onEvents([{ type: "waiting" }]);
    const asked = ++snapshot;
    const isWanted = () => !isEnded && asked === snapshot;
    const ask = async () => {
      const metrics = await api.metrics(runId, MAX_POINTS);
      if (!isWanted()) return;
      flush();
      lastSteps = metrics.last_steps ?? 0;
      onEvents([{ type: "snapshot", metrics }]);
    };
    // Apart: charts do not wait for a list of files.
    newEpisodes = [];
    api.episodes(runId).then((entries) => {
      if (!isWanted()) return;
      put({ type: "episodes", entries });
      // The list may be older than these.
      for (const entry of newEpisodes) put({ type: "episode", entry });
    }, onError);
    ask().catch((error: unknown) => {
      if (!isWanted()) return;
      onError(error);
      retrySnapshot = setTimeout(takeSnapshot, RETRY_MS);
    });
  };

  const askForRows = async () => {
    const more = await api.metrics(runId, MAX_POINTS, { from: lastSteps + 1 });
    lastSteps = more.last_steps ?? lastSteps;
    rows.push(...rowsFromView(more));
    schedule();
  };

  const load = async () => {
    try {
      const run = await api.run(runId);
      if (isEnded) return;
      onEvents([{ type: "run", run }]);
      onError(null);
      isFollowed = !isOver(run.state);
      if (isFollowed) open();
      else takeSnapshot();
    } catch (error) {
      if (isEnded) return;
      onError(error);
      if (isNoAnswer(error)) retry = setTimeout(load, RETRY_MS);
    }
  };
  void load();
  document.addEventListener("visibilitychange", onVisibility);
  const renew = setInterval(() => {
    if (!isFollowed || (document.hidden && Date.now() - viewAsked < HIDDEN_VIEW_MS)) return;
    viewAsked = Date.now();
    api.run(runId).then(
      (run) => {
        if (isEnded) return;
        put({ type: "run", run }, isOver(run.state) ? SOONER_MS : BETWEEN_FLUSHES_MS);
        isFollowed = !isOver(run.state);
        if ((isElsewhere || run.is_elsewhere) && !isAway) askForRows().catch(() => undefined);
        isElsewhere = run.is_elsewhere;
      },
      // The event stream's own error says so on the page.
      () => undefined,
    );
  }, VIEW_MS);

  return () => {
    isEnded = true;
    document.removeEventListener("visibilitychange", onVisibility);
    clearInterval(renew);
    clearTimeout(timer);
    clearTimeout(retry);
    clearTimeout(retrySnapshot);
    source?.close();
  };
}

function rowOf(row: readonly (number | null)[], names: readonly string[]): MetricsRow {
  const [update, agentSteps, seconds, ...numbers] = row as number[];
  const values: Record<string, number> = {};
  numbers.forEach((value: number | null, column) => {
    if (value !== null) values[names[column]] = value;
  });
  return { update, agent_steps: agentSteps, seconds, values };
}

function on<T>(source: EventSource, kind: string, take: (body: T) => void): void {
  source.addEventListener(kind, (event) => take(JSON.parse((event as MessageEvent<string>).data) as T));
}
