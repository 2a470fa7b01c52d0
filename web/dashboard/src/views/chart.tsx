/** One line over steps or time, with the range behind each point; uPlot draws it, all charts share one cursor. */

import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import type { ChartAxis } from "../routes.ts";
import { formatCount, formatNumber, formatTicks, formatTimeTicks } from "../state/format.ts";
import type { LessonMark } from "../state/lessons.ts";
import { lineOf, type Series } from "../state/series.ts";
import { CHART_COLORS } from "../theme.ts";

const SYNC_KEY = "attract";
const RANDOM_PLAY = "random play";
const LABEL_FONT = "SIZEpx ui-sans-serif, system-ui, sans-serif";
const LABEL_SIZE = 10;
/** Width of the longest label of a time axis, half of which may stand out at its end. */
const LAST_LABEL = 48;
/** Between a label and the axis. */
const LABEL_GAP = 10;
/** Distances between ticks in seconds, as people count time. */
const TIME_STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400,
  172_800, 864_000,
];
const FONT = "11px ui-monospace, Menlo, Consolas, monospace";

interface ChartProps {
  title: string;
  series: Series | undefined;
  axis: ChartAxis;
  nothing: string;
  goal: number | null;
  /** Mean return of random play, in the chart of the return. */
  randomReturn: number | null;
  /** Where lessons began; every chart shows them. */
  lessons: readonly LessonMark[];
  /** Where a line stands, on the x-axis; null: nowhere. */
  mark: number | null;
}

export function Chart({ title, series, axis, nothing, goal, randomReturn, lessons, mark }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(series);
  latest.current = series;
  const marks = useRef(lessons);
  marks.current = lessons;
  const marked = useRef(mark);
  marked.current = mark;
  const scheme = useComputedColorScheme("light");
  const hasData = series !== undefined && series.values.length > 0;

  useEffect(() => {
    const element = frame.current;
    if (element === null || !hasData) return;
    const options = optionsOf(axis, scheme, { goal, randomReturn }, element);
    options.hooks?.draw?.push((made) => drawLessons(made, marks.current, axis, CHART_COLORS[scheme].text));
    options.hooks?.draw?.push(noteWidth, (made) => drawMark(made, marked.current, CHART_COLORS[scheme].text));
    const made = new uPlot(options, dataOf(latest.current, axis), element);
    plot.current = made;
    const resized = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [axis, scheme, goal, randomReturn, hasData]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is drawn where `mark` says
  useEffect(() => plot.current?.redraw(false), [mark]);

  useEffect(() => {
    plot.current?.setData(dataOf(series, axis));
  }, [series, axis]);

  const text = hasData
    ? `${title}: ${formatNumber(series.values[series.values.length - 1])} after ${formatCount(series.steps[series.steps.length - 1])} steps`
    : `${title}: ${nothing}`;
  return (
    <div
      className="chart"
      ref={frame}
      role="img"
      aria-label={text + spoken(lessons) + spokenRandom(randomReturn)}
    >
      {!hasData && <div className="nothing">{nothing}</div>}
    </div>
  );
}

function dataOf(series: Series | undefined, axis: ChartAxis): uPlot.AlignedData {
  return series === undefined ? [[], [], [], []] : lineOf(series, axis);
}

function optionsOf(
  axis: ChartAxis,
  scheme: "light" | "dark",
  { goal, randomReturn }: Pick<ChartProps, "goal" | "randomReturn">,
  element: HTMLElement,
): uPlot.Options {
  const colors = CHART_COLORS[scheme];
  const grid = { stroke: colors.grid, width: 1 };
  const formatX = axis === "steps" ? formatTicks : formatTimeTicks;
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [8, LAST_LABEL / 2, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: SYNC_KEY }, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: false, range: (_plot, low, high) => xRange(low, high) },
      y: { range: (_plot, low, high) => rangeOf(low, high, goal, randomReturn) },
    },
    axes: [
      {
        stroke: colors.text,
        grid,
        ticks: { show: false },
        font: FONT,
        size: 24,
        space: 64,
        ...(axis === "time" ? { incrs: TIME_STEPS } : {}),
        values: (_plot, ticks, _axis, _space, step) => formatX(ticks, step),
      },
      {
        stroke: colors.text,
        grid,
        ticks: { show: false },
        font: FONT,
        size: (plot, labels) => labelWidth(plot, labels ?? []),
        space: 34,
        values: (_plot, ticks, _axis, _space, step) => formatTicks(ticks, step),
      },
    ],
    series: [
      {},
      {
        stroke: colors.line,
        width: 2,
        points: { show: true, size: 6, fill: colors.line, filter: (plot) => lonePoints(plot.data[1]) },
      },
      { stroke: "transparent", points: { show: false } },
      { stroke: "transparent", points: { show: false } },
    ],
    bands: [{ series: [3, 2], fill: colors.band }],
    hooks: {
      draw: [
        (made) => drawLevel(made, goal, colors.text, [6, 6]),
        (made) => drawLevel(made, randomReturn, colors.text, [2, 3], RANDOM_PLAY),
      ],
      setCursor: [showValue],
    },
  };
}

/**
 * Room above and below, so that a flat line is in the middle; random play is always in sight, the goal once the line is half way
 * to it.
 */
function rangeOf(
  low: number,
  high: number,
  goal: number | null,
  randomReturn: number | null,
): [number, number] {
  const reached = goal !== null && high >= goal / 2 ? Math.max(high, goal) : high;
  const top = Math.max(reached, randomReturn ?? reached);
  const bottom = Math.min(low, randomReturn ?? low);
  // A line of noughts, or of one value, is no line of tiny differences.
  const isFlat = top - bottom <= Math.abs(top) * 1e-9;
  const room = isFlat ? Math.abs(top) * 0.1 || 1 : (top - bottom) * 0.08;
  return [bottom - room, top + room];
}

/** One point alone stands in the middle. */
function xRange(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  return low < high ? [low, high] : [low - (Math.abs(low) / 2 || 1), high + (Math.abs(high) / 2 || 1)];
}

/** Points without a neighbour, which no line shows. */
function lonePoints(values: uPlot.AlignedData[1]): number[] {
  const isEmpty = (i: number) => values[i] === null || values[i] === undefined;
  const found: number[] = [];
  for (let i = 0; i < values.length; i++) if (!isEmpty(i) && isEmpty(i - 1) && isEmpty(i + 1)) found.push(i);
  return found;
}

/** Room for the widest label, in CSS pixels. */
function labelWidth(plot: uPlot, labels: readonly string[]): number {
  plot.ctx.save();
  plot.ctx.font = FONT;
  const widest = Math.max(0, ...labels.map((label) => plot.ctx.measureText(label).width));
  plot.ctx.restore();
  return Math.ceil(widest) + LABEL_GAP;
}

/** A line across the chart, with its name above its right end where it has one. */
function drawLevel(plot: uPlot, level: number | null, color: string, dash: number[], name = ""): void {
  if (level === null || level > (plot.scales.y.max ?? 0)) return;
  const y = plot.valToPos(level, "y", true);
  const { ctx: context, bbox } = plot;
  const right = bbox.left + bbox.width;
  const px = devicePixelRatio;
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

/** Says to the styles of the figure where the plot lies in it, for what stands below on the same axis. */
function noteWidth({ root, bbox }: uPlot): void {
  const style = root.closest("figure")?.style;
  style?.setProperty("--plot-left", `${bbox.left / devicePixelRatio}px`);
  style?.setProperty("--plot-width", `${bbox.width / devicePixelRatio}px`);
}

function drawMark(plot: uPlot, mark: number | null, color: string): void {
  if (mark === null) return;
  const { ctx: context, bbox } = plot;
  const at = plot.valToPos(mark, "x", true);
  const x = Math.min(Math.max(at, bbox.left), bbox.left + bbox.width);
  context.save();
  context.strokeStyle = color;
  context.lineWidth = devicePixelRatio;
  context.beginPath();
  context.moveTo(x, bbox.top);
  context.lineTo(x, bbox.top + bbox.height);
  context.stroke();
  context.restore();
}

/** A line where each lesson began, with its name; of the first, which began with the run, only the name. */
function drawLessons(plot: uPlot, lessons: readonly LessonMark[], axis: ChartAxis, color: string): void {
  const { ctx: context, bbox } = plot;
  const px = devicePixelRatio;
  /** Where the last name of each row ends: names that would overlap go one row down. */
  const rowEnds: number[] = [];
  context.save();
  context.strokeStyle = color;
  context.fillStyle = color;
  context.font = LABEL_FONT.replace("SIZE", String(Math.round(LABEL_SIZE * px)));
  context.textAlign = "left";
  context.textBaseline = "top";
  context.setLineDash([2, 4]);
  for (const [i, lesson] of lessons.entries()) {
    const x =
      i === 0 ? bbox.left : plot.valToPos(axis === "steps" ? lesson.steps : lesson.seconds, "x", true);
    if (i > 0) {
      context.beginPath();
      context.moveTo(x, bbox.top);
      context.lineTo(x, bbox.top + bbox.height);
      context.stroke();
    }
    const left = x + 4 * px;
    const free = rowEnds.findIndex((end) => end <= left);
    const row = free < 0 ? rowEnds.length : free;
    rowEnds[row] = left + context.measureText(lesson.name).width + 4 * px;
    context.fillText(lesson.name, left, bbox.top + row * (LABEL_SIZE + 2) * px);
  }
  context.restore();
}

function spokenRandom(randomReturn: number | null): string {
  return randomReturn === null ? "" : `; ${RANDOM_PLAY} ${formatNumber(randomReturn)}`;
}

function spoken(lessons: readonly LessonMark[]): string {
  if (lessons.length === 0) return "";
  return `; lesson ${lessons[lessons.length - 1].name}`;
}

/** The number under the cursor, in the chart's head; without a cursor the newest. */
function showValue(plot: uPlot): void {
  const output = plot.root.closest("figure")?.querySelector("output");
  if (output === null || output === undefined) return;
  const values = plot.data[1];
  const at = plot.cursor.idx ?? values.length - 1;
  output.textContent = formatNumber(values[at]);
}
