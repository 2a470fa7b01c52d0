/** The ticked runs with all that a comparison shows of them; what is over is asked for once. */

import type { EpisodeEntry, RunRow, RunView } from "@attract/schema";
import {
  keepPreviousData,
  type QueryClient,
  type QueryKey,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { isLive } from "../state/run-table.ts";
import { MAX_POINTS, type SeriesByName, seriesFromSnapshot } from "../state/series.ts";

export interface Compared {
  row: RunRow;
  run: RunView;
  episodes: readonly EpisodeEntry[];
}

/** Series of a run, and the names of all that it has. */
export interface Curves {
  names: readonly string[];
  series: SeriesByName;
}

const RELOAD_MS = 5000;

/** In the order of `ids`; undefined before the first answer, an error where one of them is gone. */
export function useCompared(ids: readonly string[]) {
  const client = useQueryClient();
  return useQuery({
    queryKey: ["compared", ...ids],
    queryFn: async ({ signal }): Promise<Compared[]> => {
      const { runs } = await api.runList({ q: `is:all id=${ids.join(",")}`, limit: ids.length });
      // Unticked meanwhile, one may be deleted.
      signal.throwIfAborted();
      const rows = new Map(runs.map((row) => [row.run_id, row]));
      const found = ids.map(async (id): Promise<Compared> => {
        const row = rows.get(id);
        const ask = () => Promise.all([api.run(id), api.episodes(id)]);
        const [run, episodes] = await once(client, ["whole", id], row, ask);
        if (row === undefined) throw new RangeError(`expected a row of run ${id}`);
        return { row, run, episodes };
      });
      return Promise.all(found);
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => state.data?.some(({ row }) => isLive(row)) !== false && RELOAD_MS,
  });
}

/** Curves of the runs by id, of these metrics; those of before while newer ones are fetched, which are not whole. */
export function useCurves(
  rows: readonly RunRow[],
  metrics: readonly string[],
): { curves: ReadonlyMap<string, Curves>; areWhole: boolean } {
  const client = useQueryClient();
  const names = [...metrics].sort();
  const { data, isPlaceholderData } = useQuery({
    queryKey: ["curves", rows.map(({ run_id, state }) => [run_id, state]), names],
    queryFn: async () => {
      const found = rows.map(async (row): Promise<[string, Curves]> => {
        const id = row.run_id;
        const view = await once(client, ["curve", id, names], row, () =>
          api.metrics(id, MAX_POINTS, { names }),
        );
        return [id, { names: view.names, series: seriesFromSnapshot(view) }];
      });
      return new Map(await Promise.all(found));
    },
    enabled: rows.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: rows.some(isLive) && RELOAD_MS,
    structuralSharing: false,
  });
  return { curves: data ?? NONE, areWhole: data !== undefined && !isPlaceholderData };
}

const NONE: ReadonlyMap<string, Curves> = new Map();

/** What a run has: asked for once when it is over, and each time while it is not, since it is not all yet. */
export function once<Answer>(
  client: QueryClient,
  queryKey: QueryKey,
  row: Pick<RunRow, "state" | "agent_steps"> | undefined,
  queryFn: () => Promise<Answer>,
): Promise<Answer> {
  if (row === undefined || isLive(row)) return queryFn();
  // A run that was continued is over at other steps.
  const key = [...queryKey, row.state, row.agent_steps];
  return client.fetchQuery({ queryKey: key, queryFn, staleTime: Infinity });
}
