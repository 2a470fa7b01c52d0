/** Every metric of a run as a small chart: the important ones in sight, all others folded by what they are about. */

import { useState } from "react";
import { Help } from "../components/help.tsx";
import type { ChartAxis } from "../routes.ts";
import { formatNumber } from "../state/format.ts";
import { LESSON_METRIC, type LessonMark, lessonMarks } from "../state/lessons.ts";
import { type ChartGroup, type ChartInfo, chartGroups } from "../state/metric-info.ts";
import { lastValue, type SeriesByName } from "../state/series.ts";
import { Chart } from "./chart.tsx";

const RETURN = "rollout/ep_rew_mean";

interface ChartsProps {
  series: SeriesByName;
  axis: ChartAxis;
  goal: number | null;
  /** Mean return of random play; null: not measured. */
  randomReturn: number | null;
  /** Names of the run's lessons, in order. */
  lessonNames: readonly string[];
  isLoading: boolean;
  /** Whether no update will come any more. */
  isOver: boolean;
}

export function Charts({ series, axis, goal, randomReturn, lessonNames, isLoading, isOver }: ChartsProps) {
  const lessons = lessonMarks(series[LESSON_METRIC], lessonNames);
  const nothing = isLoading ? "Loading" : isOver ? "The run ended before there was any" : null;
  return chartGroups(Object.keys(series)).map((group) => (
    <Group
      key={group.title}
      group={group}
      series={series}
      axis={axis}
      goal={goal}
      randomReturn={randomReturn}
      lessons={lessons}
      nothing={nothing}
    />
  ));
}

interface GroupProps {
  group: ChartGroup;
  series: SeriesByName;
  axis: ChartAxis;
  goal: number | null;
  randomReturn: number | null;
  lessons: readonly LessonMark[];
  /** Why charts without a value have none; null: they will. */
  nothing: string | null;
}

function Group({ group, ...common }: GroupProps) {
  const [isOpen, setOpen] = useState(group.isOpen);
  return (
    <details className="chart-group" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h3 className="label">{group.title}</h3>
        {!isOpen && <span className="soft">{group.charts.length}</span>}
      </summary>
      {/* Folded charts are not drawn: each costs as much again with every update. */}
      {isOpen && (
        <div className="charts">
          {group.charts.map((chart) => (
            <ChartCard key={chart.name} chart={chart} {...common} />
          ))}
        </div>
      )}
    </details>
  );
}

function ChartCard({ chart, ...common }: Omit<GroupProps, "group"> & { chart: ChartInfo }) {
  const { series, axis, goal, randomReturn, lessons, nothing } = common;
  const { name } = chart;
  const one = series[name];
  const value = lastValue(one);
  return (
    <figure className="card chart-card" data-metric={name} data-points={one?.steps.length ?? 0}>
      <figcaption className="chart-head">
        <h4>
          {chart.title}
          <Help about={chart.title} text={chart.help} />
        </h4>
        <output>{formatNumber(value)}</output>
      </figcaption>
      <Chart
        title={chart.title}
        series={one}
        axis={axis}
        nothing={nothing ?? chart.nothing ?? "Comes with the first update"}
        lessons={lessons}
        goal={name === RETURN ? goal : null}
        randomReturn={name === RETURN ? randomReturn : null}
      />
    </figure>
  );
}
