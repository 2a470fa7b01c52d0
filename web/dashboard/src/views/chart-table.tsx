/** The points of a chart as a table, for whom a picture tells nothing. */

import { Box, Table } from "@mantine/core";
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
    <Box
      component="section"
      mah="30vh"
      style={{ overflow: "auto" }}
      aria-label={`Table of ${title}`}
      tabIndex={0}
    >
      <Table
        w="auto"
        fz={12}
        verticalSpacing={2}
        stickyHeader
        data={{
          head: [AXIS_NAMES[axis], ...columns.map(({ line, kind }) => lines[line].name + ending[kind])],
          body: seen.map((i) => [
            formatPlace(x[i], axis),
            ...columns.map((_, column) => formatNumber(values[column][i])),
          ]),
        }}
      />
    </Box>
  );
}
