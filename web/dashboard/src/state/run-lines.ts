/** Runs as lines of one chart: each by itself, or a group as a band. */

import type { ChartAxis } from "./chart-view.ts";
import { bandOver, type DrawnLine, drawnLine } from "./drawn-lines.ts";
import { type Detail, type Series, withDetail } from "./series.ts";

/** A run of the overlay. */
export interface ChartRun {
  readonly id: string;
  readonly name: string;
  readonly colour: string;
  /** Runs of one group, two or more, are one line: their mean, with a band from the smallest to the largest. Its name. */
  readonly group?: string;
}

/** A line for each run that has the metric, or for each group of them; in the order of the runs. */
export function runLines(
  runs: readonly ChartRun[],
  whole: readonly (Series | undefined)[] | null,
  detail: readonly (Detail | null)[] | null,
  axis: ChartAxis,
): DrawnLine[] {
  const single = runs.flatMap((run, i) => {
    const series = whole?.[i];
    if (series === undefined) return [];
    const style = { id: run.id, name: run.name, color: run.colour };
    return [{ run, line: drawnLine(withDetail(series, detail?.[i] ?? null), axis, style) }];
  });
  const groups = new Map<string, typeof single>();
  for (const one of single) {
    const key = one.run.group ?? `run ${one.run.id}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups].flatMap(([group, members]) => {
    if (members.length === 1) return [members[0].line];
    const style = { id: `group ${group}`, name: group, color: members[0].run.colour };
    return (
      bandOver(
        members.map(({ line }) => line),
        style,
      ) ?? []
    );
  });
}
