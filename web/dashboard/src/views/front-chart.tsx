/** Score against seconds, a dot for each finished trial; the front is a line. */

import { Box, useComputedColorScheme } from "@mantine/core";
import { useMemo, useState } from "react";
import { ChartCursor } from "../state/chart-cursor.ts";
import { frontLines, type Point } from "../state/study.ts";
import { CHART_COLORS } from "../theme.ts";
import { Plot } from "./plot.tsx";

interface FrontChartProps {
  /** The quickest first. */
  points: readonly Point[];
  winner: number | null;
}

export function FrontChart({ points, winner }: FrontChartProps) {
  const [cursor] = useState(() => new ChartCursor());
  const [range, setRange] = useState<readonly [number, number] | null>(null);
  const scheme = useComputedColorScheme("light");
  const lines = useMemo(() => frontLines(points, winner, CHART_COLORS[scheme]), [points, winner, scheme]);
  return (
    <Box component="figure" className="front-chart" m={0} maw={760}>
      <ul className="chart-legend">
        {lines.map(({ id, name, color }) => (
          <li key={id} style={{ "--series": color } as React.CSSProperties}>
            {name}
          </li>
        ))}
      </ul>
      <Plot
        id="front"
        title="Score against seconds"
        unit=""
        lines={lines}
        axis="time"
        range={range}
        smooth={0}
        isLog={false}
        isCut={false}
        nothing="No trial has come to its end yet."
        cursor={cursor}
        onRange={setRange}
      />
    </Box>
  );
}
