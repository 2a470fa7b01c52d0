/** What a page shows of its address: changed at once, and in the address once it has stood for a moment. */

import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import type { Route } from "../routes.ts";
import type { ChartView } from "../state/chart-view.ts";
import { keepCharts } from "../state/kept-view.ts";
import { replaceRoute } from "./use-route.ts";

/** A browser refuses an address that changes with every turn of the wheel or step of a drag. */
const REST_MS = 200;

function useInAddress<Value>(
  value: Value,
  remember: (value: Value) => void,
): [Value, (value: Value) => void] {
  const [draft, setDraft] = useState<{ value: Value } | null>(null);
  const rest = useDebouncedCallback((rested: Value) => {
    remember(rested);
    setDraft(null);
  }, REST_MS);
  const change = (changed: Value) => {
    setDraft({ value: changed });
    rest(changed);
  };
  return [draft === null ? value : draft.value, change];
}

/** The version that plays on a run's page, null for the newest, and what changes it. */
export function useVersion(route: Extract<Route, { view: "run" }>) {
  return useInAddress(route.version, (version) => replaceRoute({ ...route, version }));
}

/** The view of a page's charts, and what changes it. */
export function useChartView(
  route: Extract<Route, { charts: ChartView }>,
): readonly [ChartView, (view: ChartView) => void] {
  const [view, change] = useInAddress(route.charts, (charts) => replaceRoute({ ...route, charts }));
  const show = (changed: ChartView) => {
    keepCharts(changed);
    change(changed);
  };
  return [view, show];
}
