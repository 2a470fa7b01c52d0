/** A curve of returns in a table's cell, or the band of several. */

import { formatNumber } from "../state/format.ts";
import { bandOf } from "../state/run-table.ts";

const [WIDTH, HEIGHT] = [96, 26];

export function ReturnCurve({ curves }: { curves: readonly (readonly number[])[] }) {
  const { mean, min, max } = bandOf(curves);
  const [first, last] = [mean[0], mean.at(-1)];
  if (first === undefined || last === undefined) return <span className="soft">–</span>;
  const low = Math.min(...min);
  const span = Math.max(...max) - low || 1;
  const at = (value: number, index: number) => {
    const x = mean.length === 1 ? WIDTH : (index / (mean.length - 1)) * WIDTH;
    return `${x.toFixed(1)},${(HEIGHT - 2 - ((value - low) / span) * (HEIGHT - 4)).toFixed(1)}`;
  };
  const lower = min.map(at).reverse();
  return (
    <svg
      style={{ display: "block", color: "var(--stick)" }}
      fill="none"
      stroke="currentColor"
      strokeWidth={1.5}
      data-testid="curve"
      role="img"
      aria-label={`from ${formatNumber(first)} to ${formatNumber(last)}`}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
    >
      {curves.length > 1 && (
        <polygon
          fill="currentColor"
          stroke="none"
          opacity={0.2}
          points={[...max.map(at), ...lower].join(" ")}
        />
      )}
      <polyline points={mean.map(at).join(" ")} />
    </svg>
  );
}
