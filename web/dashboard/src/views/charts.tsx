/** Every metric of a run as a small chart: the important ones in sight, all others folded by what they are about. */

import { type ReactNode, useState } from "react";
import { Help } from "../components/help.tsx";
import type { ChartAxis } from "../routes.ts";
import { formatNumber } from "../state/format.ts";
import { LESSON_METRIC, type LessonMark, lessonMarks } from "../state/lessons.ts";
import { type ChartGroup, type ChartInfo, chartGroups } from "../state/metric-info.ts";
import { lastValue, RETURN, type SeriesByName } from "../state/series.ts";
import { Chart } from "./chart.tsx";

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

interface ReturnProps {
  /** Where the chart has a line across, on its axis; null: nowhere. */
  mark: number | null;
  /** What stands under the chart. */
  children: ReactNode;
}

/** The learning curve, which stands beside the game. */
export function ReturnChart({ mark, children, ...props }: ChartsProps & ReturnProps) {
  const charts = chartGroups(Object.keys(props.series)).flatMap((group) => group.charts);
  const chart = charts.find(({ name }) => name === RETURN);
  if (chart === undefined) return null;
  return (
    <ChartCard chart={chart} heading="h2" mark={mark} {...commonOf(props)}>
      {children}
    </ChartCard>
  );
}

/** All others. */
export function Charts(props: ChartsProps) {
  const common = commonOf(props);
  return chartGroups(Object.keys(props.series)).map((group) => (
    <Group
      key={group.title}
      group={{ ...group, charts: group.charts.filter(({ name }) => name !== RETURN) }}
      {...common}
    />
  ));
}

function commonOf({ lessonNames, isLoading, isOver, ...props }: ChartsProps): CommonProps {
  const nothing = isLoading ? "Loading" : isOver ? "The run ended before there was any" : null;
  return { ...props, lessons: lessonMarks(props.series[LESSON_METRIC], lessonNames), nothing };
}

interface CommonProps extends Omit<ChartsProps, "lessonNames" | "isLoading" | "isOver"> {
  lessons: readonly LessonMark[];
  /** Why charts without a value have none; null: they will. */
  nothing: string | null;
}

function Group({ group, ...common }: CommonProps & { group: ChartGroup }) {
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
            <ChartCard key={chart.name} chart={chart} heading="h4" {...common} />
          ))}
        </div>
      )}
    </details>
  );
}

interface CardProps extends CommonProps, Partial<ReturnProps> {
  chart: ChartInfo;
  heading: "h2" | "h4";
}

function ChartCard({ chart, heading: Heading, mark = null, children, ...common }: CardProps) {
  const { series, axis, goal, randomReturn, lessons, nothing } = common;
  const { name } = chart;
  const one = series[name];
  const value = lastValue(one);
  return (
    <figure className="card chart-card" data-metric={name} data-points={one?.steps.length ?? 0}>
      <figcaption className="chart-head">
        <Heading>
          {chart.title}
          <Help about={chart.title} text={chart.help} />
        </Heading>
        <output aria-live="off">{formatNumber(value)}</output>
      </figcaption>
      <Chart
        title={chart.title}
        series={one}
        axis={axis}
        nothing={nothing ?? chart.nothing ?? "Comes with the first update"}
        lessons={lessons}
        goal={name === RETURN ? goal : null}
        randomReturn={name === RETURN ? randomReturn : null}
        mark={mark}
      />
      {children}
    </figure>
  );
}
