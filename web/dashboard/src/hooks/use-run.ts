/** Everything about one run, live: the snapshot, then the server's events, a few times a second. */

import type { RunView } from "@attract/schema";
import { useEffect, useReducer, useState } from "react";
import { followRun } from "../api/run-feed.ts";
import { EMPTY_RUN, type RunEvent, type RunState, reduceRun } from "../state/run-state.ts";

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
    return followRun(runId, (events) => dispatch(events), setError);
  }, [runId]);

  return { ...state, error, accept: (run) => dispatch([{ type: "run", run }]) };
}

function reduceAll(state: RunState, events: readonly RunEvent[] | "reset"): RunState {
  return events === "reset" ? EMPTY_RUN : events.reduce(reduceRun, state);
}
