/** Everything about one run, live: the snapshot, then the server's events, a few times a second. */

import type { EpisodeEntry, RunView } from "@attract/schema";
import { useCallback, useEffect, useReducer, useState } from "react";
import { followRun } from "../api/run-feed.ts";
import { EMPTY_RUN, type RunEvent, type RunState, reduceRun } from "../state/run-state.ts";

export interface LiveRun extends RunState {
  /** Why there is nothing to show; null as soon as there is. */
  error: unknown;
  /** Takes over a view that an action of ours returned, ahead of the event. */
  accept: (run: RunView) => void;
  /** Lists an episode that was kept here; a run that is over sends no events. */
  list: (entry: EpisodeEntry) => void;
  /** Listens from the beginning: the run was over and is resumed. */
  restart: () => void;
}

export function useRun(runId: string): LiveRun {
  const [state, dispatch] = useReducer(reduceAll, EMPTY_RUN);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` restarts the effect
  useEffect(() => {
    dispatch("reset");
    setError(null);
    return followRun(runId, (events) => dispatch(events), setError);
  }, [runId, turn]);

  const restart = () => setTurn((old) => old + 1);
  const accept = (run: RunView) => dispatch([{ type: "run", run }]);
  const list = useCallback((entry: EpisodeEntry) => dispatch([{ type: "episode", entry }]), []);
  return { ...state, error, accept, list, restart };
}

function reduceAll(state: RunState, events: readonly RunEvent[] | "reset"): RunState {
  return events === "reset" ? EMPTY_RUN : events.reduce(reduceRun, state);
}
