/** What the table has of one run, for pages about that run: its labels, and the way to change them. */

import type { EditLabels, RunRow } from "@attract/schema";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../api/client.ts";

export type Edit = (change: Partial<EditLabels>) => Promise<void>;

/** The row is null until it is known. */
export function useRunRow(runId: string): readonly [row: RunRow | null, edit: Edit] {
  const client = useQueryClient();
  const queryKey = ["row", runId];
  const find = async () => (await api.runList({ q: `is:all id=${runId}`, limit: 1 })).runs[0] ?? null;
  const { data = null } = useQuery({ queryKey, queryFn: find });
  const edit: Edit = async (change) => {
    client.setQueryData(queryKey, await api.editRun(runId, change));
  };
  return [data, edit];
}
