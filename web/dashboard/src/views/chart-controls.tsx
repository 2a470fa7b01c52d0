/** By what all charts are looked at: axis, smoothing, outliers, range, search. */

import { Button, Checkbox, Group, TextInput } from "@mantine/core";
import { Select } from "../components/select.tsx";
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
/** Buttons that move the range; all but the first need one. */
const STEPS = [
  ["Zoom in", "+", "in"],
  ["Zoom out", "−", "out"],
  ["Earlier", "←", -1],
  ["Later", "→", 1],
] as const;

export function ChartControls({ view, onView, span, range, hasSearch = false }: ChartControlsProps) {
  const [min, max] = span;
  const isFollowing = view.range !== null && "last" in view.range;
  const follow = () => {
    const width = range === null ? (max - min) * FOLLOWED_SHARE : range[1] - range[0];
    onView({ ...view, range: isFollowing ? null : { last: width } });
  };
  return (
    <Group gap="8px 16px" mb={14} fz={13} role="toolbar" aria-label="Charts">
      <Select
        label="Over"
        aria-label="What the charts run over"
        value={view.axis}
        data={CHART_AXES.map((value) => ({ value, label: AXIS_NAMES[value] }))}
        // A range is of its axis.
        onChange={(axis) => onView({ ...view, axis: axis as ChartAxis, range: null })}
      />
      <Group component="label" gap={6}>
        Smoothing
        <input
          type="range"
          min={0}
          max={MAX_SMOOTH}
          step={0.01}
          style={{ width: 96 }}
          value={view.smooth}
          onChange={(event) => onView({ ...view, smooth: Number(event.currentTarget.value) })}
        />
        <span className="mono">{view.smooth.toFixed(2)}</span>
      </Group>
      <Checkbox
        size="xs"
        label="Cut outliers"
        checked={view.isCut}
        onChange={(event) => onView({ ...view, isCut: event.currentTarget.checked })}
      />
      <Group role="group" gap={4} aria-label="Range">
        {STEPS.map(([name, sign, by]) => (
          <Button
            key={name}
            size="compact-sm"
            variant="default"
            aria-label={name}
            title={name}
            disabled={by !== "in" && range === null}
            onClick={() => onView({ ...view, range: stepRange(range ?? span, by, min, max) })}
          >
            {sign}
          </Button>
        ))}
        <Button
          size="compact-sm"
          variant={isFollowing ? "filled" : "default"}
          aria-pressed={isFollowing}
          onClick={follow}
        >
          Follow newest
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          disabled={view.range === null}
          onClick={() => onView({ ...view, range: null })}
        >
          Show all
        </Button>
      </Group>
      {hasSearch && (
        <TextInput
          type="search"
          size="xs"
          aria-label="Search charts"
          placeholder="Search charts"
          value={view.find}
          onChange={(event) => onView({ ...view, find: event.currentTarget.value })}
        />
      )}
    </Group>
  );
}
