/** Draws lines: data in, range out. uPlot paints, in sight and once an animation frame; one cursor is for all plots. */

import "uplot/dist/uPlot.min.css";
import "../styles/charts.css";
import { Center, useComputedColorScheme } from "@mantine/core";
import { useMergedRef } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useRef } from "react";
import uPlot from "uplot";
import { useInSight } from "../hooks/use-in-sight.ts";
import { formatPlace, plotText } from "../state/chart-text.ts";
import {
  type DrawnLine,
  type DrawnTable,
  nearestPoint,
  pointAt,
  pointBefore,
  tableOf,
} from "../state/drawn-lines.ts";
import { formatNumber } from "../state/format.ts";
import { type Painted, type PlotProps, plotOptions } from "./plot-options.ts";

/** Points that a key with Shift passes. */
const LONG_STEP = 10;

export function Plot(props: PlotProps) {
  const { id, title, lines, axis, smooth, isLog, nothing, cursor } = props;
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const painted = useRef<Painted>({ ...props, table: EMPTY });
  const { sight, isInSight } = useInSight();
  const ref = useMergedRef(frame, sight);
  const scheme = useComputedColorScheme("light");
  const hasData = lines.some(({ values }) => values.length > 0);
  const structure = [
    scheme,
    axis,
    isLog,
    smooth > 0,
    ...lines.map((line) => `${line.id} ${line.color} ${line.low !== null} ${line.name}`),
  ].join("\n");

  // biome-ignore lint/correctness/useExhaustiveDependencies: `structure` stands for what the options are made of
  useEffect(() => {
    const element = frame.current;
    if (element === null || !hasData || !isInSight) return;
    painted.current = { ...props, table: tableOf(lines, smooth) };
    const made = new uPlot(plotOptions(painted, scheme, element), dataOf(painted.current), element);
    plot.current = made;
    const resized = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    resized.observe(element);
    const follow = () => followCursor(made, painted.current, element);
    follow();
    const stop = cursor.listen(follow);
    return () => {
      stop();
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [structure, hasData, isInSight, cursor]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever has changed is drawn
  useEffect(() => {
    if (!isInSight || !hasData) return;
    const draw = () => {
      const made = plot.current;
      if (made === null || frame.current === null) return;
      painted.current = { ...props, table: tableOf(lines, smooth) };
      made.setData(dataOf(painted.current));
      followCursor(made, painted.current, frame.current);
    };
    // In a hidden page no frame comes: what is newest then is drawn when it is seen again.
    const asked = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(asked);
  }, [lines, props.levels, props.marks, props.range, smooth, props.isCut, isInSight]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (plot.current === null || event.ctrlKey || event.altKey || event.metaKey) return;
    if (moveByKey(event.key, event.shiftKey, painted.current, plot.current)) event.preventDefault();
  };
  const text = plotText({ title, lines, axis, nothing, levels: props.levels, marks: props.marks });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useAriaPropsSupportedByRole: it has one of two roles
    <div
      className="chart"
      ref={ref}
      aria-label={text}
      onKeyDown={hasData ? onKeyDown : undefined}
      {...(hasData
        ? {
            role: "slider",
            tabIndex: 0,
            // What is drawn says where the cursor is.
            "aria-valuemin": 0,
            "aria-valuemax": 0,
            "aria-valuenow": 0,
          }
        : { role: "img" })}
      onBlur={() => cursor.current?.chart === id && cursor.set(null)}
    >
      {!hasData && (
        <Center h="100%" p={12} c="dimmed" fz={13} ta="center">
          {nothing}
        </Center>
      )}
      {hasData && <div className="chart-tip" aria-hidden="true" hidden />}
    </div>
  );
}

/** Between the cursor and what is said of it. */
const TIP_GAP = 12;

const EMPTY: DrawnTable = { x: [], columns: [], values: [] };

/** A logarithmic axis has no place for 0 and below. */
function dataOf({ table, isLog }: Painted): uPlot.AlignedData {
  const values = isLog
    ? table.values.map((list) =>
        list.map((value) => (typeof value === "number" && value <= 0 ? null : value)),
      )
    : table.values;
  return [table.x, ...values] as unknown as uPlot.AlignedData;
}

/** Shows the page's cursor here: the points, the values in the legend, and beside the pointer all of it in words. */
function followCursor(
  plot: uPlot,
  { cursor, id, table, lines, axis, unit }: Painted,
  element: HTMLElement,
): void {
  const place = cursor.current;
  const tip = element.querySelector<HTMLElement>(".chart-tip");
  const isShown =
    place !== null && place.x >= (plot.scales.x.min ?? 0) && place.x <= (plot.scales.x.max ?? 0);
  const left = isShown ? plot.valToPos(place.x, "x") : -10;
  // The pointer moves the cursor of its own plot.
  if (place?.by !== "pointer" || place.chart !== id) plot.setCursor({ left, top: isShown ? 0 : -10 }, false);
  const figure = element.closest("figure");
  const read = readings(table, lines, isShown ? place.x : null);
  for (const [i, line] of lines.entries()) {
    const output = figure?.querySelector(`output[data-line="${CSS.escape(line.id)}"]`);
    if (output) output.textContent = formatNumber(read[i].value);
  }
  const x = isShown ? place.x : (table.x[table.x.length - 1] ?? 0);
  const words = [formatPlace(x, axis), ...lines.map((line, i) => readingText(line, read[i], unit))];
  element.setAttribute("aria-valuetext", words.join(", "));
  element.setAttribute("aria-valuemax", String(Math.max(0, table.x.length - 1)));
  element.setAttribute("aria-valuenow", String(Math.max(0, nearestPoint(table.x, table.x, x))));
  if (tip === null) return;
  tip.hidden = !isShown || place.chart !== id;
  if (tip.hidden) return;
  tip.replaceChildren(
    ...words.map((text, i) => {
      const row = document.createElement("div");
      if (i > 0) row.style.setProperty("--series", lines[i - 1].color);
      row.textContent = text;
      return row;
    }),
  );
  // Beside the cursor, where there is more room, and within the chart.
  const at = plot.over.offsetLeft + left;
  const isRight = left > plot.over.clientWidth / 2;
  const start = isRight ? at - TIP_GAP - tip.offsetWidth : at + TIP_GAP;
  tip.style.left = `${Math.max(0, Math.min(start, element.clientWidth - tip.offsetWidth))}px`;
}

/** Units that a value is read without. */
const WITHOUT_UNIT = ["", "share", "reward"];

interface Reading {
  /** Place of the point. */
  x: number | undefined;
  value: number | null;
  raw: number | null;
  low: number | null;
  high: number | null;
}

/** What stands at a place of x, of each line its nearest point; null: the newest. */
function readings(
  { x, columns, values }: DrawnTable,
  lines: readonly DrawnLine[],
  place: number | null,
): Reading[] {
  return lines.map(({ hasDots, isScatter }, line) => {
    const of = (kind: string) =>
      values[columns.findIndex((column) => column.line === line && column.kind === kind)];
    const main = of("main") ?? [];
    // An evaluation holds until the next one.
    const find = hasDots && !isScatter ? pointBefore : pointAt;
    const at = place === null ? nearestPoint(x, main, Number.POSITIVE_INFINITY) : find(x, main, place);
    const read = (kind: string) => of(kind)?.[at] ?? null;
    return { x: x[at], value: main[at] ?? null, raw: read("raw"), low: read("low"), high: read("high") };
  });
}

function readingText(line: DrawnLine, { x, value, raw, low, high }: Reading, unit: string): string {
  const name = x === undefined ? line.name : (line.nameAt?.(x) ?? line.name);
  const band =
    low !== null && high !== null && low < high ? ` (${formatNumber(low)} to ${formatNumber(high)})` : "";
  const own = raw === null ? "" : `, raw ${formatNumber(raw)}`;
  return `${name} ${formatNumber(value)}${WITHOUT_UNIT.includes(unit) ? "" : ` ${unit}`}${own}${band}`;
}

/** Arrows move the cursor from point to point, + and - zoom about it, 0 shows all. Whether the key does anything. */
function moveByKey(key: string, isLong: boolean, painted: Painted, plot: uPlot): boolean {
  const { table, cursor, id, onRange } = painted;
  const { x } = table;
  const [min, max] = [plot.scales.x.min ?? 0, plot.scales.x.max ?? 0];
  const seen = x.flatMap((place, i) => (place >= min && place <= max ? [i] : []));
  if (seen.length === 0) return false;
  const [first, last] = [seen[0], seen[seen.length - 1]];
  const at = cursor.current === null ? last + 1 : nearestPoint(x, x, cursor.current.x);
  const to = (index: number) => {
    cursor.set({ x: x[Math.min(Math.max(index, first), last)], chart: id, by: "keys" });
    return true;
  };
  const step = isLong ? LONG_STEP : 1;
  if (key === "ArrowLeft") return to(at - step);
  if (key === "ArrowRight") return to(at + step);
  if (key === "Home") return to(first);
  if (key === "End") return to(last);
  if (key === "Escape" && cursor.current !== null) {
    cursor.set(null);
    return true;
  }
  const middle = cursor.current?.x ?? (min + max) / 2;
  const half = (max - min) / 2;
  if (key === "+" || key === "=") onRange([middle - half / 2, middle + half / 2]);
  else if (key === "-")
    onRange(half * 4 >= x[x.length - 1] - x[0] ? null : [middle - half * 2, middle + half * 2]);
  else if (key === "0") onRange(null);
  else return false;
  return true;
}
