/** The slider under the return chart: drag along the learning curve, and the version of that time plays. */

import type { RunView } from "@attract/schema";
import { Button, Group } from "@mantine/core";
import type { KeyboardEvent } from "react";
import type { ChartAxis } from "../state/chart-view.ts";
import { isOver } from "../state/run-state.ts";
import type { Series } from "../state/series.ts";
import {
  domainOf,
  type PlacedVersion,
  placeIn,
  shareOf,
  standingAt,
  versionAt,
  versionByKey,
  versionText,
} from "../state/versions.ts";

interface VersionSliderProps {
  run: RunView;
  /** Ascending. */
  versions: readonly PlacedVersion[];
  /** The version that plays; null: the newest. */
  chosen: number | null;
  onChoose: (version: number | null) => void;
  /** The learning curve above. */
  series: Series | undefined;
  axis: ChartAxis;
  /** The part of the axis that the chart shows; null: all. */
  range: readonly [number, number] | null;
}

export function VersionSlider({ run, versions, chosen, onChoose, series, axis, range }: VersionSliderProps) {
  const standing = standingAt(versions, chosen);
  // One version leaves no choice.
  if (standing === undefined || versions.length < 2) return null;
  const domain = domainOf(versions, series, axis, range);
  const text = versionText(versions, chosen, isOver(run.state) ? null : run);
  const choose = (version: number | null | undefined) => {
    if (version !== undefined && version !== chosen) onChoose(version);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const version = versionByKey(versions, chosen, event.key);
    if (version === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    choose(version);
  };
  return (
    <div data-testid="versions" data-count={versions.length}>
      <div className="versions-track">
        {versions.map((version) => (
          <span
            key={version.policy_version}
            aria-hidden="true"
            data-best={version.best}
            style={{ left: `${shareOf(domain, version, axis) * 100}%` }}
          />
        ))}
        <input
          type="range"
          aria-label="Version that plays"
          aria-valuetext={text}
          min={domain.min}
          max={domain.max}
          step="any"
          value={chosen === null ? domain.max : placeIn(domain, standing, axis)}
          onChange={(event) => choose(versionAt(versions, domain, Number(event.currentTarget.value), axis))}
          onKeyDown={onKeyDown}
        />
      </div>
      <Group justify="space-between" gap="4px 8px" mt={6} mih={26} fz={13} c="dimmed">
        <span>{text}</span>
        {chosen !== null && (
          <Button size="compact-xs" variant="default" onClick={() => onChoose(null)}>
            Play the newest
          </Button>
        )}
      </Group>
    </div>
  );
}
