/** By what all charts are looked at: axis, smoothing, outliers, range, search. */

import { AXIS_NAMES } from "../state/chart-text.ts";
import { CHART_AXES, type ChartAxis, type ChartView, MAX_SMOOTH, stepRange } from "../state/chart-view.ts";

interface ChartControlsProps {
  view: ChartView;
  onView: (view: ChartView) => void;
  /** First and last place of the x-axis. */
  span: readonly [min: number, max: number];
  range: readonly [number, number] | null;
  hasSearch?: boolean;
}

const FOLLOWED_SHARE = 0.25;

export function ChartControls({ view, onView, span, range, hasSearch = false }: ChartControlsProps) {
  const [min, max] = span;
  const isFollowing = view.range !== null && "last" in view.range;
  const shown = range ?? span;
  const step = (by: -1 | 1 | "in" | "out") => onView({ ...view, range: stepRange(shown, by, min, max) });
  const follow = () => {
    const width = range === null ? (max - min) * FOLLOWED_SHARE : range[1] - range[0];
    onView({ ...view, range: isFollowing ? null : { last: width } });
  };
  return (
    <div className="chart-controls" role="toolbar" aria-label="Charts">
      <ChartFields view={view} onView={onView} />
      <fieldset className="chart-range" aria-label="Range">
        <button type="button" aria-label="Zoom in" title="Zoom in" onClick={() => step("in")}>
          +
        </button>
        <button
          type="button"
          aria-label="Zoom out"
          title="Zoom out"
          disabled={range === null}
          onClick={() => step("out")}
        >
          −
        </button>
        <button
          type="button"
          aria-label="Earlier"
          title="Earlier"
          disabled={range === null}
          onClick={() => step(-1)}
        >
          ←
        </button>
        <button
          type="button"
          aria-label="Later"
          title="Later"
          disabled={range === null}
          onClick={() => step(1)}
        >
          →
        </button>
        <button type="button" aria-pressed={isFollowing} onClick={follow}>
          Follow newest
        </button>
        <button type="button" disabled={view.range === null} onClick={() => onView({ ...view, range: null })}>
          Show all
        </button>
      </fieldset>
      {hasSearch && (
        <input
          type="search"
          aria-label="Search charts"
          placeholder="Search charts"
          value={view.find}
          onChange={(event) => onView({ ...view, find: event.currentTarget.value })}
        />
      )}
    </div>
  );
}

/** What holds for the charts of one run as for those of several. */
export function ChartFields({ view, onView }: Pick<ChartControlsProps, "view" | "onView">) {
  return (
    <>
      <label>
        Over{" "}
        <select
          aria-label="What the charts run over"
          value={view.axis}
          // A range is of its axis.
          onChange={(event) => onView({ ...view, axis: event.currentTarget.value as ChartAxis, range: null })}
        >
          {CHART_AXES.map((axis) => (
            <option key={axis} value={axis}>
              {AXIS_NAMES[axis]}
            </option>
          ))}
        </select>
      </label>
      <label>
        Smoothing{" "}
        <input
          type="range"
          min={0}
          max={MAX_SMOOTH}
          step={0.01}
          value={view.smooth}
          onChange={(event) => onView({ ...view, smooth: Number(event.currentTarget.value) })}
        />
        <span className="mono">{view.smooth.toFixed(2)}</span>
      </label>
      <label>
        <input
          type="checkbox"
          checked={view.isCut}
          onChange={(event) => onView({ ...view, isCut: event.currentTarget.checked })}
        />{" "}
        Cut outliers
      </label>
    </>
  );
}
