/** The last view of charts and of the table of runs, kept for links within the page. An opened address has its own view. */

import { type ChartView, chartViewIn, putChartView } from "./chart-view.ts";
import { formatTableView, isOfTrash, parseTableView } from "./run-table.ts";
import { store, stored } from "./stored.ts";

const CHARTS = "attract charts";
const TABLE = "attract runs";

export function keptCharts(): ChartView {
  return chartViewIn(new URLSearchParams(stored(CHARTS)));
}

/** All but what is of one run alone: range, search and the chart that fills the window. */
export function keepCharts(view: ChartView): void {
  const search = new URLSearchParams();
  putChartView(search, { ...view, range: null, find: "", large: null });
  store(CHARTS, search.toString());
}

/** As the search of a route. */
export function keptTable(): string {
  return stored(TABLE);
}

/** All but the ticks; the trash is no place to come back to. */
export function keepTable(search: string): void {
  const view = parseTableView(search);
  if (!isOfTrash(view.query))
    store(TABLE, formatTableView({ ...view, ticked: [], unseen: [], baseline: "", isDifference: false }));
}
