/** The points of a chart as a table, for whom a picture tells nothing. */

import { AXIS_NAMES, formatPlace } from "../state/chart-text.ts";
import type { ChartAxis } from "../state/chart-view.ts";
import { type DrawnLine, tableOf } from "../state/drawn-lines.ts";
import { formatNumber } from "../state/format.ts";

interface ChartTableProps {
  title: string;
  lines: readonly DrawnLine[];
  axis: ChartAxis;
  range: readonly [number, number] | null;
}

export function ChartTable({ title, lines, axis, range }: ChartTableProps) {
  const { x, columns, values } = tableOf(lines, 0);
  const seen = x.flatMap((place, i) =>
    range === null || (place >= range[0] && place <= range[1]) ? [i] : [],
  );
  const ending = { main: "", raw: "", low: ", minimum", high: ", maximum" };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
    <section className="chart-table" aria-label={`Table of ${title}`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{AXIS_NAMES[axis]}</th>
            {columns.map(({ line, kind }) => (
              <th scope="col" key={`${lines[line].id} ${kind}`}>
                {lines[line].name}
                {ending[kind]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {seen.map((i) => (
            <tr key={x[i]}>
              <th scope="row">{formatPlace(x[i], axis)}</th>
              {columns.map(({ line, kind }, column) => (
                <td key={`${lines[line].id} ${kind}`}>{formatNumber(values[column][i])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
