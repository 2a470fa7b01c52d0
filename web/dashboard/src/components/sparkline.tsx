/** A line without axes, for the returns of a run beside its name; what it shows stands beside it as a number. */

import { sparkPoints } from "../state/home.ts";

const [WIDTH, HEIGHT] = [160, 36];

export function Sparkline({ values }: { values: readonly number[] }) {
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <polyline points={sparkPoints(values, WIDTH, HEIGHT)} />
    </svg>
  );
}
