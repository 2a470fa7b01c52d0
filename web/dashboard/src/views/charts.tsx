/** Every metric of a run as a small chart, the important ones first. */

import { Button } from "@mantine/core";
import { useState } from "react";
import { Help } from "../parts/help.tsx";
import type { ChartAxis } from "../routes.ts";
import { formatNumber } from "../state/format.ts";
import { LESSON_METRIC, type LessonMark, lessonMarks } from "../state/lessons.ts";
import { type ChartGroup, type ChartInfo, chartGroups, firstCharts } from "../state/metric-info.ts";
import { lastValue, type SeriesByName } from "../state/series.ts";
import { Chart } from "./chart.tsx";

interface ChartsProps {
  series: SeriesByName;
  axis: ChartAxis;
  goal: number | null;
  /** Names of the run's lessons, in order. */
  lessonNames: readonly string[];
  isLoading: boolean;
}

export function Charts({ series, axis, goal, lessonNames, isLoading }: ChartsProps) {
  const [isMore, setMore] = useState(false);
  const groups = chartGroups(Object.keys(series));
  const shown =
    groups.length === 0 ? [firstCharts()] : groups.filter((group) => group.title !== "More" || isMore);
  const hidden = groups.find((group) => group.title === "More")?.charts.length ?? 0;
  const nothing = isLoading ? "Loading" : "Comes with the first update";
  const lessons = lessonMarks(series[LESSON_METRIC], lessonNames);
  const common = { series, axis, goal, lessons, nothing };
  return (
    <>
      {shown.map((group) => (
        <Group key={group.title} group={group} {...common} />
      ))}
      {hidden > 0 && (
        <Button variant="default" size="xs" mt="md" aria-expanded={isMore} onClick={() => setMore(!isMore)}>
          {isMore ? "Fewer charts" : `${hidden} more charts`}
        </Button>
      )}
    </>
  );
}

interface GroupProps {
  group: ChartGroup;
  series: SeriesByName;
  axis: ChartAxis;
  goal: number | null;
  lessons: readonly LessonMark[];
  nothing: string;
}

function Group({ group, ...common }: GroupProps) {
  return (
    <div className="chart-group">
      <h3 className="label">{group.title}</h3>
      <div className="charts">
        {group.charts.map((chart) => (
          <ChartCard key={chart.title} chart={chart} {...common} />
        ))}
      </div>
    </div>
  );
}

function ChartCard({ chart, ...common }: Omit<GroupProps, "group"> & { chart: ChartInfo }) {
  const { series, axis, goal, lessons, nothing } = common;
  const name = chart.names[0];
  const one = series[name];
  const value = lastValue(one);
  return (
    <figure className="card chart-card" data-metric={name} data-points={one?.steps.length ?? 0}>
      <figcaption className="chart-head">
        <h3>
          {chart.title}
          <Help about={chart.title} text={chart.help} />
        </h3>
        <output>{formatNumber(value)}</output>
      </figcaption>
      <Chart
        title={chart.title}
        series={one}
        axis={axis}
        nothing={nothing}
        lessons={lessons}
        goal={name === "rollout/ep_rew_mean" ? goal : null}
      />
    </figure>
  );
}
