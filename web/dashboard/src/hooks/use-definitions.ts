/** What metrics mean, asked of the server once. */

import type { MetricDefinitions } from "@attract/schema";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

/** Null until they are there. */
export function useDefinitions(): MetricDefinitions | null {
  const once = { queryKey: ["definitions"], queryFn: api.metricDefinitions, staleTime: Infinity };
  return useQuery(once).data ?? null;
}
