/** The view of a page's charts: in the page's address once it has not changed for a moment. */

import { useEffect, useRef, useState } from "react";
import type { Route } from "../routes.ts";
import type { ChartView } from "../state/chart-view.ts";
import { keepCharts } from "../state/kept-view.ts";
import { replaceRoute } from "./use-route.ts";

/** A browser refuses an address that changes with every turn of the wheel. */
const REST_MS = 200;

export function useChartView(
  route: Extract<Route, { charts: ChartView }>,
): readonly [ChartView, (view: ChartView) => void] {
  const [draft, setDraft] = useState<ChartView | null>(null);
  const newest = useRef(route);
  newest.current = route;
  useEffect(() => {
    if (draft === null) return;
    const timer = setTimeout(() => {
      replaceRoute({ ...newest.current, charts: draft });
      setDraft(null);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [draft]);
  const show = (view: ChartView) => {
    keepCharts(view);
    setDraft(view);
  };
  return [draft ?? route.charts, show];
}
