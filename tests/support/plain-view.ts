/** Charts as they are looked at where neither an address nor a person says how. */

import type { ChartView } from "../../web/dashboard/src/state/chart-view.ts";

export const PLAIN_VIEW: ChartView = {
  axis: "steps",
  range: null,
  smooth: 0,
  isCut: false,
  log: [],
  pinned: [],
  find: "",
  folded: [],
  large: null,
};
