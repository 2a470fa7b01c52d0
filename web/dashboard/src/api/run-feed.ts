/** One run as it comes from the server: a snapshot, then its events; after every cut of the stream a snapshot again. */

import type {
  EpisodeEntry,
  FleetView,
  GameReport,
  LessonView,
  LogLine,
  MetricsRow,
  PolicyView,
  RunView,
} from "@attract/schema";
import { isOver, type RunEvent } from "../state/run-state.ts";
import { MAX_POINTS } from "../state/series.ts";
import { api, isNoAnswer, runPath, serverUrl } from "./client.ts";

/** Events are gathered this long before the page is drawn again: workers need the processor more. */
const FLUSH_MS = 250;
const RETRY_MS = 2000;
/** The whole view is asked for this often: events bring it only when the run's state changes. */
const VIEW_MS = 2000;

/** Listens to a run until the returned function is called. */
export function followRun(
  runId: string,
  onEvents: (events: RunEvent[]) => void,
  onError: (error: unknown) => void,
): () => void {
  let waiting: RunEvent[] = [];
  let rows: MetricsRow[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let retrySnapshot: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource | undefined;
  let isEnded = false;
  let isFollowed = false;
  /** Counts the snapshots that were asked for: the answer to an earlier one is no longer wanted. */
  let snapshot = 0;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const events = rows.length === 0 ? waiting : [...waiting, { type: "metrics", rows } as const];
    waiting = [];
    rows = [];
    if (events.length > 0) onEvents(events);
  };
  const schedule = () => {
    timer ??= setTimeout(flush, FLUSH_MS);
  };
  const put = (event: RunEvent) => {
    waiting.push(event);
    schedule();
  };

  // The stream opens first and the snapshot is asked for after it, so that no row falls between the two. The server repeats
  // only the newest events of those that were missed: after a cut everything is asked for again.
  const open = () => {
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
    on<FleetView>(source, "fleet", (fleet) => put({ type: "fleet", fleet }));
    on<GameReport>(source, "report", (report) => put({ type: "report", report }));
    on<LogLine>(source, "log", (line) => put({ type: "log", lines: [line] }));
    on<EpisodeEntry>(source, "episode", (entry) => put({ type: "episode", entry }));
    on<LessonView>(source, "lesson", (lesson) => put({ type: "lesson", lesson }));
    on<PolicyView>(source, "policy", (policy) => put({ type: "policy", policy }));
    on<MetricsRow>(source, "metrics", (row) => {
      rows.push(row);
      schedule();
    });
  };

  /** Until its answer is there, rows that come are kept apart. */
  const takeSnapshot = () => {
    clearTimeout(retrySnapshot);
    flush();
    onEvents([{ type: "waiting" }]);
    const asked = ++snapshot;
    const isWanted = () => !isEnded && asked === snapshot;
    const ask = async () => {
      const [metrics, log] = await Promise.all([
        api.metrics(runId, MAX_POINTS),
        isFollowed ? api.log(runId) : null,
      ]);
      if (!isWanted()) return;
      flush();
      onEvents([{ type: "snapshot", metrics, log: log?.lines ?? null }]);
    };
    // Apart: charts do not wait for a list of files.
    api.episodes(runId).then((entries) => isWanted() && put({ type: "episodes", entries }), onError);
    ask().catch((error: unknown) => {
      if (!isWanted()) return;
      onError(error);
      retrySnapshot = setTimeout(takeSnapshot, RETRY_MS);
    });
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
  const renew = setInterval(() => {
    if (!isFollowed || document.hidden) return;
    api.run(runId).then(
      (run) => {
        if (isEnded) return;
        put({ type: "run", run });
        isFollowed = !isOver(run.state);
      },
      // The event stream's own error says so on the page.
      () => undefined,
    );
  }, VIEW_MS);

  return () => {
    isEnded = true;
    clearInterval(renew);
    clearTimeout(timer);
    clearTimeout(retry);
    clearTimeout(retrySnapshot);
    source?.close();
  };
}

function on<T>(source: EventSource, kind: string, take: (body: T) => void): void {
  source.addEventListener(kind, (event) => take(JSON.parse((event as MessageEvent<string>).data) as T));
}
