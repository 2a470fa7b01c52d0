/** The runs that a search finds: page after page, live ones kept current. */

import type { RunList, RunRow } from "@attract/schema";
import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api } from "../api/client.ts";
import { withLive } from "../state/run-table.ts";

const FIRST_PAGE = 100;
const PAGE = 500;
const LIVE_EVERY_MS = 2000;
const UNREAD_AGAIN_MS = 100;

export interface LoadedRuns {
  /** The newest answer, with the rows of all pages so far; null: none yet. */
  list: RunList | null;
  error: unknown;
  reload: () => void;
  /** Puts a changed row in the place of the old one, before the server is asked again. */
  replace: (row: RunRow) => void;
}

/** `query` and `sort` as the server takes them; `names`: metrics that the rows have. The old rows stay while newer ones are fetched. */
export function useRunList(query: string, sort: string, names: readonly string[]): LoadedRuns {
  const metrics = names.join(",");
  const client = useQueryClient();
  const queryKey = ["runs", query, sort, metrics];
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: after }) =>
      api.runList({ q: query, sort, limit: after === undefined ? FIRST_PAGE : PAGE, after, metrics }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages[0]?.num_unread ?? 0) > 0 ? UNREAD_AGAIN_MS : false),
  });
  const { data, hasNextPage, isFetching, isPlaceholderData, fetchNextPage, refetch } = found;
  useEffect(() => {
    if (hasNextPage && !isFetching && !isPlaceholderData) void fetchNextPage();
  }, [hasNextPage, isFetching, isPlaceholderData, fetchNextPage]);
  const { data: live } = useQuery({
    queryKey: ["live runs", query, metrics],
    queryFn: () => api.runList({ q: `${query} is:live`, limit: FIRST_PAGE, metrics }),
    refetchInterval: LIVE_EVERY_MS,
  });
  const list = useMemo(() => listOf(data), [data]);
  const current = useMemo(
    () => (list === null || live === undefined ? list?.runs : withLive(list.runs, live.runs)),
    [list, live],
  );
  // A run came, went live or ended.
  const isOld = current === null && !isFetching;
  useEffect(() => {
    if (isOld) void refetch();
  }, [isOld, refetch]);
  const shown = useMemo(() => list && { ...list, runs: current ?? list.runs }, [list, current]);
  const replace = (row: RunRow) =>
    client.setQueryData<InfiniteData<RunList>>(
      queryKey,
      (old) => old && { ...old, pages: old.pages.map((page) => replaced(page, row)) },
    );
  return { list: shown, error: found.error, reload: () => void refetch(), replace };
}

/** All pages as one; a run that moved from one to the next while they were asked for is there once. */
function listOf(data: InfiniteData<RunList> | undefined): RunList | null {
  const last = data?.pages.at(-1);
  if (last === undefined) return null;
  const runs = new Map(data?.pages.flatMap((page) => page.runs).map((run) => [run.run_id, run]));
  return { ...last, runs: [...runs.values()] };
}

function replaced(page: RunList, row: RunRow): RunList {
  const runs = page.runs.map((run) =>
    run.run_id === row.run_id
      ? { ...row, settings: { ...run.settings, ...row.settings }, metrics: run.metrics }
      : run,
  );
  return { ...page, runs };
}
