/** The lines of a chart: of one run each in its own colour, of several runs each in its run's, or a band for a group of runs. */

import type { ChartAxis } from "./chart-view.ts";
import { bandOver, type DrawnLine, differenceTo, drawnLine } from "./drawn-lines.ts";
import type { Panel, PanelLine } from "./panels.ts";
import type { SeriesByName } from "./series.ts";

/** A run in charts. */
export interface ChartRun {
  readonly id: string;
  readonly name: string;
  /** Of all its lines; null: each line has a colour of its own. */
  readonly colour: string | null;
  /** Runs of one group, two or more, are one line: their mean, with a band from the smallest to the largest. Its name. */
  readonly group?: string;
  readonly series: SeriesByName;
}

/** Evaluations are dots joined by a thin line of dashes. */
const EVALUATION_DASH = [4, 4];
/** Of the further lines of a chart in which colours tell the runs apart. */
const DASHES: readonly (readonly number[] | undefined)[] = [undefined, [8, 4], [2, 3], [8, 3, 2, 3]];

interface LinesOptions {
  axis: ChartAxis;
  colours: readonly string[];
  /** Id of the run whose value at the same place is taken from every line; null: none. */
  baseline: string | null;
}

/** The lines of a chart in its order, those of each metric in the order of the runs. */
export function panelLines(panel: Panel, runs: readonly ChartRun[], options: LinesOptions): DrawnLine[] {
  return panel.lines.flatMap((line, place) => {
    const single = runs.flatMap((run) => {
      const series = run.series[line.metric];
      const style = styleOf(line, place, run, panel.lines.length > 1, options.colours);
      return series === undefined || series.values.length === 0
        ? []
        : [{ run, line: drawnLine(series, options.axis, style) }];
    });
    const { baseline } = options;
    const base = single.find(({ run }) => run.id === baseline)?.line;
    if (baseline === null) return banded(single);
    const others = single.map((one) => ({ ...one, line: base && differenceTo(one.line, base) }));
    return banded(others.flatMap(({ run, line }) => (line === undefined ? [] : [{ run, line }])));
  });
}

function styleOf(
  { metric, name, role }: PanelLine,
  place: number,
  run: ChartRun,
  hasSeveral: boolean,
  colours: readonly string[],
): Pick<DrawnLine, "id" | "name" | "color" | "dash" | "hasDots"> {
  const hasDots = role === "evaluation";
  if (run.colour === null)
    return {
      id: metric,
      name,
      color: colours[place % colours.length] ?? "#888888",
      hasDots,
      ...(hasDots ? { dash: EVALUATION_DASH } : {}),
    };
  return {
    id: `${run.id} ${metric}`,
    name: hasSeveral ? `${run.name}, ${name}` : run.name,
    color: run.colour,
    hasDots,
    dash: hasDots ? EVALUATION_DASH : DASHES[place % DASHES.length],
  };
}

function banded(single: readonly { run: ChartRun; line: DrawnLine }[]): DrawnLine[] {
  const groups = new Map<string, typeof single>();
  for (const one of single) {
    const key = one.run.group ?? `run ${one.run.id}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups].flatMap(([group, members]) => {
    const [{ line }] = members as [(typeof members)[number]];
    if (members.length === 1) return [line];
    const { color, dash } = line;
    const band = bandOver(
      members.map((one) => one.line),
      { id: `group ${group} ${line.id}`, name: group, color },
    );
    return band === null ? [] : [{ ...band, ...(dash === undefined ? {} : { dash }) }];
  });
}
