/** What the table has of one run, for pages about that run: its labels, and the way to change them. */

import type { EditLabels, RunRow } from "@attract/schema";
import { useState } from "react";
import { api } from "../api/client.ts";
import { useLoaded } from "./use-loaded.ts";

export type Edit = (change: Partial<EditLabels>) => Promise<void>;

/** The row is null until it is known. */
export function useRunRow(runId: string): readonly [row: RunRow | null, edit: Edit] {
  const find = async () => (await api.runList({ q: `is:all id=${runId}`, limit: 1 })).runs[0] ?? null;
  const { value } = useLoaded(`row ${runId}`, find);
  const [edited, setEdited] = useState<RunRow | null>(null);
  const edit: Edit = async (change) => setEdited(await api.editRun(runId, change));
  return [edited?.run_id === runId ? edited : value, edit];
}
