/** What metrics mean, asked of the server once. */

import type { MetricDefinitions } from "@attract/schema";
import { api } from "../api/client.ts";
import { useLoaded } from "./use-loaded.ts";

let asked: Promise<MetricDefinitions> | null = null;

/** Null until they are there. */
export function useDefinitions(): MetricDefinitions | null {
  return useLoaded("definitions", load).value;
}

function load(): Promise<MetricDefinitions> {
  asked ??= api.metricDefinitions();
  // What failed is asked for again.
  asked.catch(() => {
    asked = null;
  });
  return asked;
}
