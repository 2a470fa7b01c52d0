/** Places of an axis, and charts, in words. */

import type { ChartAxis } from "./chart-view.ts";
import type { DrawnLine } from "./drawn-lines.ts";
import { formatCount, formatDuration, formatNumber } from "./format.ts";

export const AXIS_NAMES: Readonly<Record<ChartAxis, string>> = {
  steps: "Steps",
  updates: "Updates",
  episodes: "Episodes",
  time: "Run time",
  clock: "Date and time",
};

/** "12.3k steps", "3:05", "2026-05-01 12:30:05". */
export function formatPlace(x: number, axis: ChartAxis): string {
  if (axis === "time") return formatDuration(x);
  if (axis === "clock") return formatClock(x);
  return `${formatCount(x)} ${axis}`;
}

/** Unix time as local date and time to the second. */
export function formatClock(seconds: number): string {
  const date = new Date(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Ticks of a clock `step` seconds apart: times of the day, with the date where it begins; dates where they are days apart. */
export function formatClockTicks(ticks: readonly number[], step: number): string[] {
  return ticks.map((tick) => {
    const text = formatClock(tick);
    const time = text.slice(11, step < 60 ? 19 : 16);
    return step >= 86_400 || text.endsWith(" 00:00:00") ? text.slice(5, 10) : time;
  });
}

interface Spoken {
  title: string;
  lines: readonly DrawnLine[];
  axis: ChartAxis;
  nothing: string;
  levels?: readonly { value: number; name: string }[];
  marks?: readonly { kind: string; text: string }[];
}

/** A chart in one sentence: its newest values, where they are, its levels and the newest lesson. */
export function plotText({ title, lines, axis, nothing, levels = [], marks = [] }: Spoken): string {
  const filled = lines.filter(({ values }) => values.length > 0);
  if (filled.length === 0) return `${title}: ${nothing}`;
  const values = filled.map((line) => {
    const value = formatNumber(line.values[line.values.length - 1]);
    return filled.length === 1 ? value : `${line.name} ${value}`;
  });
  const last = Math.max(...filled.map(({ x }) => x[x.length - 1]));
  const named = levels.map(({ name, value }) => `; ${name} ${formatNumber(value)}`).join("");
  const lesson = marks.findLast(({ kind }) => kind === "lesson");
  const where = axis === "clock" || axis === "time" ? "at" : "after";
  return `${title}: ${values.join(", ")} ${where} ${formatPlace(last, axis)}${lesson === undefined ? "" : `; lesson ${lesson.text}`}${named}`;
}
