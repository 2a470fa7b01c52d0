/** The runs that a search finds: page after page, live ones kept current. */

import type { RunList, RunRow } from "@attract/schema";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client.ts";
import { withLive } from "../state/run-table.ts";
import { useServerAway } from "./use-server-away.ts";

const FIRST_PAGE = 100;
const PAGE = 500;
const LIVE_EVERY_MS = 2000;
const UNREAD_AGAIN_MS = 100;

export interface LoadedRuns {
  /** Of the newest answer, with the rows of all pages that have come; null: none yet. */
  list: RunList | null;
  error: unknown;
  reload: () => void;
  /** Puts a changed row in the place of the old one, before the server is asked again. */
  replace: (row: RunRow) => void;
}

/** `query` and `sort` as the server takes them. The old rows stay while newer ones are fetched. */
export function useRunList(query: string, sort: string): LoadedRuns {
  const [list, setList] = useState<RunList | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const isAway = useServerAway();
  const shown = useRef<RunList | null>(null);
  shown.current = list;
  const reload = useCallback(() => setTurn((old) => old + 1), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` asks again, and so does a server that answers again
  useEffect(() => {
    let isCurrent = true;
    const load = async () => {
      let page = await api.runs({ q: query, sort, limit: FIRST_PAGE });
      while (isCurrent && page.num_unread > 0) {
        setList(page);
        await new Promise((resolve) => setTimeout(resolve, UNREAD_AGAIN_MS));
        page = await api.runs({ q: query, sort, limit: FIRST_PAGE });
      }
      if (!isCurrent) return;
      setList(page);
      setError(null);
      let { runs, next } = page;
      while (next !== null) {
        const more = await api.runs({ q: query, sort, limit: PAGE, after: next });
        if (!isCurrent) return;
        runs = unique([...runs, ...more.runs]);
        next = more.next;
        setList({ ...more, runs });
      }
    };
    load().catch((problem: unknown) => isCurrent && setError(problem));
    return () => {
      isCurrent = false;
    };
  }, [query, sort, turn, isAway]);

  useEffect(() => {
    const ask = async () => {
      const before = shown.current;
      if (document.hidden || before === null) return;
      const live = await api.runs({ q: `${query} is:live`, limit: FIRST_PAGE });
      if (shown.current !== before) return;
      const runs = withLive(before.runs, live.runs);
      if (runs === null) reload();
      else if (live.runs.length > 0) setList({ ...before, runs });
    };
    // An error shows where the whole list is asked for.
    const timer = setInterval(() => ask().catch(() => undefined), LIVE_EVERY_MS);
    return () => clearInterval(timer);
  }, [query, reload]);

  const replace = useCallback((row: RunRow) => {
    setList((old) => {
      if (old === null) return old;
      const runs = old.runs.map((run) =>
        run.run_id === row.run_id ? { ...row, settings: { ...run.settings, ...row.settings } } : run,
      );
      return { ...old, runs };
    });
  }, []);
  return { list, error, reload, replace };
}

/** A run that moved from one page to the next while they were asked for is there once. */
function unique(runs: readonly RunRow[]): RunRow[] {
  return [...new Map(runs.map((run) => [run.run_id, run])).values()];
}
