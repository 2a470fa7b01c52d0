/** Score against seconds, a dot for each finished trial; the front is a line. */

import { formatNumber, formatTicks } from "../state/format.ts";
import type { Point } from "../state/study.ts";

const WIDTH = 420;
const HEIGHT = 260;
const LEFT = 60;
const BOTTOM = 40;
const MARGIN = 16;
const TICKS = 4;
/** Beyond the values at both ends, as a share of their span. */
const ROOM = 0.08;

interface FrontChartProps {
  /** The quickest first. */
  points: readonly Point[];
  winner: number | null;
}

export function FrontChart({ points, winner }: FrontChartProps) {
  if (points.length === 0) return <p className="soft">No trial has come to its end yet.</p>;
  const x = scaleOf(
    points.map(({ seconds }) => seconds),
    LEFT,
    WIDTH - MARGIN,
  );
  const y = scaleOf(
    points.map(({ score }) => score),
    HEIGHT - BOTTOM,
    MARGIN,
  );
  const front = points.filter(({ onFront }) => onFront);
  const spoken = front.map((one) => `${nameOf(one.number)} ${valuesOf(one)}`).join("; ");
  return (
    <svg
      className="front-chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Score against seconds of ${points.length} trials. On the front: ${spoken}`}
    >
      {y.ticks.map((tick, place) => (
        <g key={tick}>
          <line className="grid" x1={LEFT} x2={WIDTH - MARGIN} y1={y.at(tick)} y2={y.at(tick)} />
          <text x={LEFT - 8} y={y.at(tick) + 4} textAnchor="end">
            {y.labels[place]}
          </text>
        </g>
      ))}
      {x.ticks.map((tick, place) => (
        <text key={tick} x={x.at(tick)} y={HEIGHT - BOTTOM + 18} textAnchor="middle">
          {x.labels[place]}
        </text>
      ))}
      <text x={(LEFT + WIDTH) / 2} y={HEIGHT - 6} textAnchor="middle">
        seconds
      </text>
      <text x={12} y={HEIGHT / 2} textAnchor="middle" transform={`rotate(-90 12 ${HEIGHT / 2})`}>
        score
      </text>
      <polyline
        className="front"
        points={front.map(({ seconds, score }) => `${x.at(seconds)},${y.at(score)}`).join(" ")}
      />
      {points.map((one) => (
        <circle
          key={one.number}
          data-front={one.onFront}
          data-kind={one.number === winner ? "winner" : one.number === 0 ? "default" : "trial"}
          cx={x.at(one.seconds)}
          cy={y.at(one.score)}
          r={one.number === winner || one.number === 0 ? 5 : 3.5}
        >
          <title>{`${nameOf(one.number)}: ${valuesOf(one)}`}</title>
        </circle>
      ))}
    </svg>
  );
}

function nameOf(number: number): string {
  return number === 0 ? "the defaults" : `trial ${number}`;
}

function valuesOf({ score, seconds }: Point): string {
  return `score ${formatNumber(score)} in ${formatNumber(seconds)} s`;
}

/** Places between `from` and `to` of values a little wider than those there are, and round values among them. */
function scaleOf(values: readonly number[], from: number, to: number) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low || Math.abs(high) || 1) * ROOM;
  const [least, most] = [low - room, high + room];
  const raw = (most - least) / TICKS;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * ([1, 2, 5, 10].find((one) => one * unit >= raw) ?? 10);
  const ticks: number[] = [];
  for (let count = Math.ceil(least / step); count * step <= most; count += 1)
    ticks.push(Number((count * step).toPrecision(12)));
  return {
    ticks,
    labels: formatTicks(ticks, step),
    at: (value: number) => from + ((value - least) / (most - least)) * (to - from),
  };
}
