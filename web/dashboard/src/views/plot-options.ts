/** How uPlot draws our lines: axes, ranges, bands, levels and marks, and what the pointer does. */

import type { RefObject } from "react";
import type uPlot from "uplot";
import type { ChartCursor } from "../state/chart-cursor.ts";
import { formatClockTicks } from "../state/chart-text.ts";
import type { ChartAxis } from "../state/chart-view.ts";
import { cutRange, type DrawnLine, type DrawnTable } from "../state/drawn-lines.ts";
import { formatNumber, formatTicks, formatTimeTicks } from "../state/format.ts";
import { CHART_COLORS } from "../theme.ts";

/** A line across the plot. */
export interface Level {
  readonly value: number;
  readonly name: string;
  readonly dash: readonly number[];
  /** Whether the plot always reaches to it; else once the line is half way to it. */
  readonly isAlwaysShown: boolean;
}

export interface Mark {
  readonly x: number;
  readonly kind: "lesson" | "pause" | "evaluation" | "best" | "version";
  /** Empty: a line alone. */
  readonly text: string;
}

export interface PlotProps {
  /** Unique on the page: the cursor says in which chart it is. */
  id: string;
  title: string;
  unit: string;
  lines: readonly DrawnLine[];
  levels?: readonly Level[];
  marks?: readonly Mark[];
  axis: ChartAxis;
  /** The part of the x-axis that is shown; null: all. */
  range: readonly [number, number] | null;
  smooth: number;
  isLog: boolean;
  isCut: boolean;
  /** What stands here without data. */
  nothing: string;
  cursor: ChartCursor;
  /** A range was drawn with the pointer or chosen by keys; null: all. */
  onRange: (range: readonly [number, number] | null) => void;
}

/** What is drawn now. */
export type Painted = PlotProps & { readonly table: DrawnTable };

const FONT = "11px ui-monospace, Menlo, Consolas, monospace";
const LABEL_FONT = "SIZEpx ui-sans-serif, system-ui, sans-serif";
const LABEL_SIZE = 10;
/** Width of the longest label of a time axis, half of which may stand out at its end. */
const LAST_LABEL = 48;
/** Between a label and the axis. */
const LABEL_GAP = 10;
/** Distances between ticks in seconds, as people count time. */
const TIME_STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200,
  86_400, 172_800, 864_000,
];
/** Pixels that the pointer is dragged before it draws a range. */
const MIN_DRAG = 5;
/** How much the wheel zooms with each notch. */
const WHEEL_ZOOM = 1.25;
/** Opacity of a band, and of the raw line behind a smoothed one, as two hexadecimal digits. */
const [BAND, RAW] = ["26", "66"];

export function plotOptions(
  painted: RefObject<Painted>,
  scheme: "light" | "dark",
  element: HTMLElement,
): uPlot.Options {
  const { axis, isLog, lines, table } = painted.current;
  const colors = CHART_COLORS[scheme];
  const grid = { stroke: colors.grid, width: 1 };
  const isTime = axis === "time" || axis === "clock";
  const formatX = axis === "clock" ? formatClockTicks : axis === "time" ? formatTimeTicks : formatTicks;
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [8, LAST_LABEL / 2, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: MIN_DRAG },
      points: { size: (_plot, place) => (table.columns[place - 1]?.kind === "main" ? 7 : 0) },
      bind: {
        mousedown: (_plot, _target, handler) => (event) => {
          if (!event.shiftKey) handler(event);
          return null;
        },
        dblclick: () => () => {
          painted.current.onRange(null);
          return null;
        },
      },
    },
    scales: {
      x: { time: false, range: (_plot, low, high) => xRange(low, high, painted.current) },
      y: { distr: isLog ? 3 : 1, range: (_plot, low, high) => yRange(low, high, painted.current) },
    },
    axes: [
      {
        stroke: colors.text,
        grid,
        ticks: { show: false },
        font: FONT,
        size: 24,
        space: 64,
        ...(isTime ? { incrs: TIME_STEPS } : {}),
        values: (_plot, ticks, _axis, _space, step) => formatX(ticks, step),
      },
      {
        stroke: colors.text,
        grid,
        ticks: { show: false },
        font: FONT,
        size: (plot, labels) => labelWidth(plot, labels ?? []),
        space: 34,
        values: (_plot, ticks, _axis, _space, step) =>
          isLog ? ticks.map((tick) => (tick === null ? "" : formatNumber(tick))) : formatTicks(ticks, step),
      },
    ],
    series: [
      {},
      ...table.columns.map(({ line, kind }): uPlot.Series => {
        const { color, dash, hasDots, isScatter } = lines[line];
        if (kind === "low" || kind === "high") return { stroke: "transparent", points: { show: false } };
        if (kind === "raw") return { stroke: color + RAW, width: 1, points: { show: false } };
        return {
          stroke: color,
          width: 2,
          dash: dash === undefined ? undefined : [...dash],
          ...(isScatter ? { paths: () => null } : {}),
          points: {
            show: true,
            size: 6,
            fill: color,
            stroke: color,
            filter: (plot, place) => (hasDots ? null : lonePoints(plot.data[place])) as number[],
          },
        };
      }),
    ],
    bands: table.columns.flatMap(({ line, kind }, place) =>
      kind === "high"
        ? [{ series: [place + 1, place] as [number, number], fill: lines[line].color + BAND }]
        : [],
    ),
    hooks: {
      ready: [(plot) => listen(plot, painted)],
      setSelect: [(plot) => takeSelection(plot, painted)],
      draw: [
        (plot) => drawMarks(plot, painted.current.marks ?? [], colors),
        (plot) => drawLevels(plot, painted.current.levels ?? [], colors.text),
        noteWidth,
      ],
    },
  };
}

/** One point alone stands in the middle. */
function xRange(low: number | null, high: number | null, { range }: Painted): [number, number] {
  if (range !== null) return [range[0], range[1]];
  if (low === null || high === null) return [0, 1];
  return low < high ? [low, high] : [low - (Math.abs(low) / 2 || 1), high + (Math.abs(high) / 2 || 1)];
}

/** Room above and below, so that a flat line is in the middle; levels within reach are in sight. */
function yRange(low: number | null, high: number | null, painted: Painted): [number, number] {
  const { isCut, isLog, range, table, levels = [] } = painted;
  const cut = isCut ? cutRange(table, range) : null;
  let [bottom, top] = cut ?? [low ?? 0, high ?? 1];
  if (isLog) return logRange(bottom, top, painted);
  for (const { value, isAlwaysShown } of levels) {
    if (isAlwaysShown) [bottom, top] = [Math.min(bottom, value), Math.max(top, value)];
    else if (top >= value / 2) top = Math.max(top, value);
  }
  // A line of noughts, or of one value, is no line of tiny differences.
  const isFlat = top - bottom <= Math.abs(top) * 1e-9;
  const room = isFlat ? Math.abs(top) * 0.1 || 1 : (top - bottom) * 0.08;
  return [bottom - room, top + room];
}

function logRange(low: number, high: number, { table, range }: Painted): [number, number] {
  if (low > 0 && high > 0) return [low / 1.15, high * 1.15];
  const positive = table.values.flatMap((list) =>
    list.filter((value, i): value is number => {
      const isSeen = range === null || (table.x[i] >= range[0] && table.x[i] <= range[1]);
      return isSeen && typeof value === "number" && value > 0;
    }),
  );
  if (positive.length === 0) return [0.1, 10];
  return [Math.min(...positive) / 1.15, Math.max(...positive, high) * 1.15];
}

/** Points without a neighbour, which no line shows. */
function lonePoints(values: uPlot.AlignedData[number]): number[] {
  const found: number[] = [];
  let isAfterGap = true;
  let last = -1;
  for (let i = 0; i <= values.length; i++) {
    const value = i < values.length ? values[i] : null;
    if (value === undefined) continue;
    if (value === null) {
      if (last >= 0 && isAfterGap) found.push(last);
      [isAfterGap, last] = [true, -1];
    } else {
      isAfterGap = last < 0;
      last = i;
    }
  }
  return found;
}

/** Width of a character of the labels, all of which are equally wide; 0: not measured yet. */
let characterWidth = 0;

/** Room for the widest label, in CSS pixels. */
function labelWidth(plot: uPlot, labels: readonly string[]): number {
  if (characterWidth === 0) {
    plot.ctx.save();
    plot.ctx.font = FONT;
    characterWidth = plot.ctx.measureText("0").width;
    plot.ctx.restore();
  }
  const longest = Math.max(0, ...labels.map((label) => label?.length ?? 0));
  return Math.ceil(longest * characterWidth) + LABEL_GAP;
}

/** The pointer sets the cursor of all charts, and with the wheel zooms (Ctrl) or moves (Shift) the range. */
function listen(plot: uPlot, painted: RefObject<Painted>): void {
  const { over } = plot;
  drag(plot, painted);
  over.addEventListener("mousemove", ({ offsetX }) => readAt(plot, painted, offsetX));
  over.addEventListener("mouseleave", () => {
    const { cursor, id } = painted.current;
    if (cursor.current?.chart === id && cursor.current.by === "pointer") cursor.set(null);
  });
  over.addEventListener(
    "wheel",
    (event) => {
      const { onRange } = painted.current;
      if (!(event.ctrlKey || event.shiftKey)) return;
      event.preventDefault();
      const [min, max] = rangeNow(plot);
      const turn = event.deltaY || event.deltaX;
      if (event.shiftKey) {
        const by = (Math.sign(turn) * (max - min)) / 10;
        onRange([min + by, max + by]);
        return;
      }
      const middle = plot.posToVal(event.offsetX, "x");
      const factor = turn < 0 ? 1 / WHEEL_ZOOM : WHEEL_ZOOM;
      onRange([middle - (middle - min) * factor, middle + (max - middle) * factor]);
    },
    { passive: false },
  );
}

/** The mouse with Shift, or a finger, moves the range; two fingers zoom. What is under them stays there. */
function drag(plot: uPlot, painted: RefObject<Painted>): void {
  const { over } = plot;
  const places = new Map<number, number>();
  let held: number[] = [];
  let perPixel = 0;
  let range: [number, number] | null = null;
  const hold = () => {
    const [min, max] = rangeNow(plot);
    perPixel = (max - min) / over.clientWidth;
    held = [...places.values()].map((x) => plot.posToVal(x, "x"));
  };
  const onDown = ({ pointerId, pointerType, shiftKey, offsetX }: PointerEvent) => {
    if ((pointerType === "mouse" && !shiftKey) || places.size === 2) return;
    over.setPointerCapture(pointerId);
    places.set(pointerId, offsetX);
    hold();
  };
  const onMove = ({ pointerId, pointerType, offsetX }: PointerEvent) => {
    if (!places.has(pointerId)) return;
    places.set(pointerId, offsetX);
    const [first = 0, second] = places.values();
    // Where all is shown there is nothing to move: the finger reads.
    if (pointerType !== "mouse" && second === undefined && painted.current.range === null) {
      readAt(plot, painted, offsetX);
      return;
    }
    if (second !== undefined) perPixel = (held[1] - held[0]) / (second - first);
    if (!(perPixel > 0 && Number.isFinite(perPixel))) return;
    const min = held[0] - perPixel * first;
    range = [min, min + perPixel * over.clientWidth];
    painted.current = { ...painted.current, range };
    plot.setScale("x", { min: range[0], max: range[1] });
  };
  const onUp = ({ pointerId }: PointerEvent) => {
    if (!places.delete(pointerId)) return;
    hold();
    if (places.size > 0 || range === null) return;
    painted.current.onRange(range);
    range = null;
  };
  over.addEventListener("pointerdown", onDown);
  over.addEventListener("pointermove", onMove);
  over.addEventListener("pointerup", onUp);
  over.addEventListener("pointercancel", onUp);
}

function readAt(plot: uPlot, { current: { cursor, id } }: RefObject<Painted>, left: number): void {
  const x = plot.data[0][plot.posToIdx(left)];
  if (x !== undefined) cursor.set({ x, chart: id, by: "pointer" });
}

function rangeNow(plot: uPlot): [number, number] {
  return [plot.scales.x.min ?? 0, plot.scales.x.max ?? 1];
}

function takeSelection(plot: uPlot, painted: RefObject<Painted>): void {
  const { left, width } = plot.select;
  if (width < MIN_DRAG) return;
  const range: [number, number] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  painted.current.onRange(range);
}

/** Lines across the plot, each with its name above its right end. */
function drawLevels(plot: uPlot, levels: readonly Level[], color: string): void {
  const { ctx: context, bbox } = plot;
  const px = devicePixelRatio;
  const right = bbox.left + bbox.width;
  for (const { value, name, dash } of levels) {
    if (value > (plot.scales.y.max ?? 0) || value < (plot.scales.y.min ?? 0)) continue;
    const y = plot.valToPos(value, "y", true);
    context.save();
    context.strokeStyle = color;
    context.fillStyle = color;
    context.setLineDash(dash.map((length) => length * px));
    context.beginPath();
    context.moveTo(bbox.left, y);
    context.lineTo(right, y);
    context.stroke();
    context.font = LABEL_FONT.replace("SIZE", String(Math.round(LABEL_SIZE * px)));
    context.textAlign = "right";
    // Below the line where there is no room above.
    const isAtTop = y - bbox.top < (LABEL_SIZE + 4) * px;
    context.textBaseline = isAtTop ? "top" : "bottom";
    context.fillText(name, right - 4 * px, isAtTop ? y + 3 * px : y - 2 * px);
    context.restore();
  }
}

const MARK_DASHES: Readonly<Record<Mark["kind"], readonly number[]>> = {
  lesson: [2, 4],
  pause: [1, 3],
  evaluation: [],
  best: [6, 3],
  version: [],
};

/** Lines from top to bottom, with their names in rows below one another; an evaluation is a tick at the bottom. */
function drawMarks(
  plot: uPlot,
  marks: readonly Mark[],
  { text, back }: { text: string; back: string },
): void {
  const { ctx: context, bbox } = plot;
  const px = devicePixelRatio;
  const [first, last] = [bbox.left, bbox.left + bbox.width];
  /** Where the last name of each row ends: names that would overlap go one row down. */
  const rowEnds: number[] = [];
  const labels: { x: number; row: number; width: number; name: string }[] = [];
  context.save();
  context.strokeStyle = text;
  context.font = LABEL_FONT.replace("SIZE", String(Math.round(LABEL_SIZE * px)));
  context.textAlign = "left";
  context.textBaseline = "top";
  for (const { x: place, kind, text: name } of marks) {
    const at = plot.valToPos(place, "x", true);
    const x = kind === "version" || kind === "lesson" ? Math.min(Math.max(at, first), last) : at;
    if (x < first || x > last) continue;
    context.lineWidth = px;
    context.setLineDash(MARK_DASHES[kind].map((length) => length * px));
    context.beginPath();
    context.moveTo(x, kind === "evaluation" ? bbox.top + bbox.height - 5 * px : bbox.top);
    context.lineTo(x, bbox.top + bbox.height);
    if (!(kind === "lesson" && x === first)) context.stroke();
    if (name === "") continue;
    const width = context.measureText(name).width;
    const left = Math.min(x + 4 * px, last - width);
    const free = rowEnds.findIndex((end) => end <= left);
    const row = free < 0 ? rowEnds.length : free;
    rowEnds[row] = left + width + 4 * px;
    labels.push({ x: left, row, width, name });
  }
  // After all lines, each on a ground of its own: no line strikes a name through.
  for (const { x, row, width, name } of labels) {
    const y = bbox.top + row * (LABEL_SIZE + 2) * px;
    context.fillStyle = back;
    context.fillRect(x - px, y, width + 2 * px, (LABEL_SIZE + 1) * px);
    context.fillStyle = text;
    context.fillText(name, x, y);
  }
  context.restore();
}

/** Says to the styles of the figure where the plot lies in it, for what stands below on the same axis. */
function noteWidth({ root, bbox }: uPlot): void {
  const style = root.closest("figure")?.style;
  style?.setProperty("--plot-left", `${bbox.left / devicePixelRatio}px`);
  style?.setProperty("--plot-width", `${bbox.width / devicePixelRatio}px`);
}
