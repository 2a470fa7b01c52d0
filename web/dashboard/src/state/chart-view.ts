/** How charts are looked at: axis, range, smoothing and choices, kept in the query of the page's address. */

export const CHART_AXES = ["steps", "updates", "episodes", "time", "clock"] as const;

/** The x-axis of every chart; `time`: seconds of the run, `clock`: date and time. */
export type ChartAxis = (typeof CHART_AXES)[number];

/** Part of the x-axis, in its unit. `last`: so much before the newest point, which it follows. */
export type ChartRange = { readonly from: number; readonly to: number } | { readonly last: number };

export interface ChartView {
  readonly axis: ChartAxis;
  /** Null: all. */
  readonly range: ChartRange | null;
  /** Weight of the past in the exponential moving average, in [0, 1); 0: none. */
  readonly smooth: number;
  /** Whether the y-axis leaves out the outermost points. */
  readonly isCut: boolean;
  /** Charts whose y-axis is the other one, linear or logarithmic, than their metric's. */
  readonly log: readonly string[];
  /** Charts that stand first. */
  readonly pinned: readonly string[];
  /** Only charts with this text are shown. */
  readonly find: string;
  /** Groups that are open where they are closed at first, and the other way round. */
  readonly folded: readonly string[];
  /** The chart that fills the window. */
  readonly large: string | null;
}

export const MAX_SMOOTH = 0.99;
const MAX_TEXT = 100;
const MAX_LIST = 64;

/** The view that a query has; what is not valid is as usual. */
export function chartViewIn(search: URLSearchParams): ChartView {
  const axis = CHART_AXES.find((name) => name === search.get("x")) ?? "steps";
  return {
    axis,
    range: rangeIn(search),
    smooth: Math.min(MAX_SMOOTH, Math.max(0, numberIn(search.get("smooth")) ?? 0)),
    isCut: search.get("cut") === "1",
    log: listIn(search.get("log")),
    pinned: listIn(search.get("pin")),
    find: (search.get("find") ?? "").slice(0, MAX_TEXT),
    folded: listIn(search.get("fold")),
    large: search.get("chart"),
  };
}

/** Writes a view into a query; what is as usual is left out. */
export function putChartView(search: URLSearchParams, view: ChartView): void {
  if (view.axis !== "steps") search.set("x", view.axis);
  if (view.range !== null && "last" in view.range) search.set("last", numberText(view.range.last));
  else if (view.range !== null) {
    search.set("from", numberText(view.range.from));
    search.set("to", numberText(view.range.to));
  }
  if (view.smooth !== 0) search.set("smooth", String(view.smooth));
  if (view.isCut) search.set("cut", "1");
  for (const [name, list] of [
    ["log", view.log],
    ["pin", view.pinned],
    ["fold", view.folded],
  ] as const)
    if (list.length > 0) search.set(name, list.join(","));
  if (view.find !== "") search.set("find", view.find);
  if (view.large !== null) search.set("chart", view.large);
}

/** `list` with `name` added, or without it where it was. */
export function toggled(list: readonly string[], name: string): string[] {
  return list.includes(name) ? list.filter((other) => other !== name) : [...list, name];
}

/** The range in numbers, of an axis that reaches from `min` to `max`; null: all. */
export function resolveRange(
  range: ChartRange | null,
  min: number,
  max: number,
): readonly [from: number, to: number] | null {
  if (range === null) return null;
  if (!("last" in range)) return [range.from, range.to];
  return range.last >= max - min ? null : [max - range.last, max];
}

/** The view of what is between two places, null: of all; a wheel that is turned for long leaves nothing between them. */
export function zoomedTo(view: ChartView, range: readonly [number, number] | null): ChartView {
  if (range === null) return { ...view, range: null };
  const [from, to] = range;
  return from < to ? { ...view, range: { from, to } } : view;
}

/**
 * The range after a step of the buttons: `by` -1 and 1 move it by half its width, "in" and "out" halve and double it about its
 * middle. Within [min, max]; all of it is null.
 */
export function stepRange(
  [from, to]: readonly [number, number],
  by: -1 | 1 | "in" | "out",
  min: number,
  max: number,
): ChartRange | null {
  const width = to - from;
  const middle = from + width / 2;
  if (by === "in") return { from: middle - width / 4, to: middle + width / 4 };
  const moved =
    by === "out" ? [middle - width, middle + width] : [from + (by * width) / 2, to + (by * width) / 2];
  const newWidth = moved[1] - moved[0];
  if (newWidth >= max - min) return null;
  const start = Math.min(Math.max(moved[0], min), max - newWidth);
  return { from: start, to: start + newWidth };
}

function rangeIn(search: URLSearchParams): ChartRange | null {
  const last = numberIn(search.get("last"));
  if (last !== null) return last > 0 ? { last } : null;
  const [from, to] = [numberIn(search.get("from")), numberIn(search.get("to"))];
  return from !== null && to !== null && from < to ? { from, to } : null;
}

function numberIn(text: string | null): number | null {
  const number = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : null;
}

/** As many digits as a drag over a wide screen has. */
function numberText(value: number): string {
  return String(Number(value.toPrecision(10)));
}

function listIn(text: string | null): string[] {
  return [...new Set((text ?? "").split(",").filter((name) => name !== ""))].slice(0, MAX_LIST);
}
