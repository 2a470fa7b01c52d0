/** Everything about one run, live: the snapshot, then the server's events, a few times a second. */

import type {
  FleetView,
  GameReport,
  LessonView,
  LogLine,
  MetricsRow,
  PolicyView,
  RunView,
} from "@attract/schema";
import { useEffect, useReducer, useState } from "react";
import { api, runPath, serverUrl } from "../api/client.ts";
import { EMPTY_RUN, isOver, type RunEvent, type RunState, reduceRun } from "../state/run-state.ts";
import { MAX_POINTS } from "../state/series.ts";

/** Events are gathered this long before the page is drawn again: workers need the processor more. */
const FLUSH_MS = 250;
const RETRY_MS = 2000;
/** The whole view is asked for this often: events bring it only when the run's state changes. */
const VIEW_MS = 2000;

export interface LiveRun extends RunState {
  /** Why there is nothing to show; null as soon as there is. */
  error: unknown;
  /** Takes over a view that an action of ours returned, ahead of the event. */
  accept: (run: RunView) => void;
}

export function useRun(runId: string): LiveRun {
  const [state, dispatch] = useReducer(reduceAll, EMPTY_RUN);
  const [error, setError] = useState<unknown>(null);

  useEffect(() => {
    dispatch("reset");
    setError(null);
    return follow(runId, (events) => dispatch(events), setError);
  }, [runId]);

  return { ...state, error, accept: (run) => dispatch([{ type: "run", run }]) };
}

function reduceAll(state: RunState, events: readonly RunEvent[] | "reset"): RunState {
  return events === "reset" ? EMPTY_RUN : events.reduce(reduceRun, state);
}

/** Listens to a run until the returned function is called. */
function follow(
  runId: string,
  onEvents: (events: RunEvent[]) => void,
  onError: (error: unknown) => void,
): () => void {
  let waiting: RunEvent[] = [];
  let rows: MetricsRow[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource | undefined;
  let isEnded = false;
  let isFollowed = false;

  const flush = () => {
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

  // The stream opens first and the snapshot is asked for after it, so that no row falls between the two.
  const open = () => {
    source = new EventSource(serverUrl(runPath(runId, "/events")));
    source.addEventListener("open", () => put({ type: "connection", connection: "live" }));
    source.addEventListener("error", () => {
      put({ type: "connection", connection: "lost" });
      if (source?.readyState === EventSource.CLOSED && !isEnded) retry = setTimeout(open, RETRY_MS);
    });
    on<RunView>(source, "status", (run) => put({ type: "run", run }));
    on<FleetView>(source, "fleet", (fleet) => put({ type: "fleet", fleet }));
    on<GameReport>(source, "report", (report) => put({ type: "report", report }));
    on<LogLine>(source, "log", (line) => put({ type: "log", lines: [line] }));
    on<LessonView>(source, "lesson", (lesson) => put({ type: "lesson", lesson }));
    on<PolicyView>(source, "policy", (policy) => put({ type: "policy", policy }));
    on<MetricsRow>(source, "metrics", (row) => {
      rows.push(row);
      schedule();
    });
  };

  const load = async () => {
    try {
      const run = await api.run(runId);
      if (isEnded) return;
      onEvents([{ type: "run", run }]);
      onError(null);
      if (!isOver(run.state)) {
        const { lines } = await api.log(runId);
        if (isEnded) return;
        onEvents([{ type: "log", lines }]);
        open();
        isFollowed = true;
      }
      const metrics = await api.metrics(runId, MAX_POINTS);
      if (isEnded) return;
      onEvents([{ type: "snapshot", metrics }]);
    } catch (error) {
      if (!isEnded) onError(error);
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
    source?.close();
  };
}

function on<T>(source: EventSource, kind: string, take: (body: T) => void): void {
  source.addEventListener(kind, (event) => take(JSON.parse((event as MessageEvent<string>).data) as T));
}
