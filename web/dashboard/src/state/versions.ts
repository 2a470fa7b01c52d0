/** The slider of versions: where each stands along the learning curve, and which one is meant. */

import type { RunView, VersionView } from "@attract/schema";
import type { ChartAxis } from "./chart-view.ts";
import { formatCount, formatNumber } from "./format.ts";
import { placeAlong, placesOf, type Series } from "./series.ts";

/** A version with its places on the axes that the server does not know it on; without a curve none. */
export interface PlacedVersion extends VersionView {
  readonly episodes?: number;
  readonly clock?: number;
}

/** Each version at its steps' place along the curve. */
export function placedVersions(versions: readonly VersionView[], curve: Series | undefined): PlacedVersion[] {
  if (curve === undefined) return [...versions];
  return versions.map((version) => ({
    ...version,
    episodes: placeAlong(curve.steps, curve.episodes, version.agent_steps),
    clock: placeAlong(curve.steps, curve.clock, version.agent_steps),
  }));
}

/** Versions that a page key passes. */
const PAGE = 5;

/** The part of the axis that the slider runs over, the same as the chart's above it. */
export interface Domain {
  readonly min: number;
  readonly max: number;
}

/** The part that is zoomed to, else from the first point of the learning curve to the last; without two points, from the first version to the last. */
export function domainOf(
  versions: readonly PlacedVersion[],
  series: Series | undefined,
  axis: ChartAxis,
  range: readonly [number, number] | null = null,
): Domain {
  if (range !== null) return { min: range[0], max: range[1] };
  const curve = series === undefined ? [] : placesOf(series, axis);
  const places = curve.length > 1 ? curve : versions.map((version) => placeOn(version, axis));
  return { min: places[0] ?? 0, max: places.at(-1) ?? 0 };
}

/** Place of a version in the domain; one that lies beyond an end stands at that end. */
export function placeIn({ min, max }: Domain, version: PlacedVersion, axis: ChartAxis): number {
  return Math.min(Math.max(placeOn(version, axis), min), max);
}

/** The same as a share of the domain, in [0, 1]. */
export function shareOf(domain: Domain, version: PlacedVersion, axis: ChartAxis): number {
  const span = domain.max - domain.min;
  return span > 0 ? (placeIn(domain, version, axis) - domain.min) / span : 1;
}

/** The version nearest to a place; null: the newest, at the right end. At the left end it is the first. */
export function versionAt(
  versions: readonly PlacedVersion[],
  domain: Domain,
  place: number,
  axis: ChartAxis,
): number | null {
  if (versions.length === 0 || place >= domain.max) return null;
  if (place <= domain.min) return chosenAt(versions, 0);
  let found = 0;
  for (let i = 1; i < versions.length; i++) {
    const isNearer =
      distance(domain, versions[i], place, axis) <= distance(domain, versions[found], place, axis);
    if (isNearer) found = i;
  }
  return chosenAt(versions, found);
}

/** The version that a key on the slider moves to; undefined: the key does nothing. `chosen` null is the newest. */
export function versionByKey(
  versions: readonly VersionView[],
  chosen: number | null,
  key: string,
): number | null | undefined {
  const last = versions.length - 1;
  if (last < 0) return undefined;
  const at = chosen === null ? last : indexOf(versions, chosen);
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      // From one that is gone, the nearest older one.
      return chosenAt(versions, at === last || versions[at].policy_version === chosen ? at - 1 : at);
    case "ArrowRight":
    case "ArrowUp":
      return chosenAt(versions, at + 1);
    case "PageDown":
      return chosenAt(versions, at - PAGE);
    case "PageUp":
      return chosenAt(versions, at + PAGE);
    case "Home":
      return chosenAt(versions, 0);
    case "End":
      return null;
    default:
      return undefined;
  }
}

/** The chosen version, for null the newest; undefined: it is not there. */
function findVersion(versions: readonly VersionView[], chosen: number | null): VersionView | undefined {
  return chosen === null ? versions.at(-1) : versions.find((version) => version.policy_version === chosen);
}

/** The chosen version as the slider stands: one that is not there as the nearest older one. */
export function standingAt(versions: readonly VersionView[], chosen: number | null): VersionView | undefined {
  return chosen === null ? versions.at(-1) : versions[indexOf(versions, chosen)];
}

/** The version of the page's other numbers while the run is running. */
type Now = Pick<RunView, "policy_version" | "agent_steps" | "episode_return_mean">;

/** A version in words, such as "Version 12, 34.5k steps, return 120, best". `now`: the run, while it is running. */
export function versionText(
  versions: readonly VersionView[],
  chosen: number | null,
  now: Now | null = null,
): string {
  if (chosen === null && now !== null) {
    const mean = now.episode_return_mean;
    const has = mean === null ? "" : `, return ${formatNumber(mean)}`;
    return `Newest version ${now.policy_version}, ${formatCount(now.agent_steps)} steps${has}`;
  }
  const version = findVersion(versions, chosen);
  if (version === undefined) return `Version ${chosen}, which is not there any more`;
  const parts = [`${formatCount(version.agent_steps)} steps`];
  if (version.return_mean !== null) parts.push(`return ${formatNumber(version.return_mean)}`);
  for (const { deterministic, return_mean } of version.evaluations)
    parts.push(
      `${deterministic ? "evaluated" : "evaluated with sampled actions"} ${formatNumber(return_mean)}`,
    );
  if (version.best) parts.push("best");
  if (version.exported) parts.push("exported");
  return `${chosen === null ? "Newest version" : "Version"} ${version.policy_version}, ${parts.join(", ")}`;
}

/** Place of a version on the charts' axis. */
export function placeOn(version: PlacedVersion, axis: ChartAxis): number {
  if (axis === "steps") return version.agent_steps;
  if (axis === "updates") return version.update;
  if (axis === "time") return version.seconds;
  return version[axis] ?? 0;
}

function distance(domain: Domain, version: PlacedVersion, place: number, axis: ChartAxis): number {
  return Math.abs(placeIn(domain, version, axis) - place);
}

/** The last index is the newest, which is followed. */
function chosenAt(versions: readonly VersionView[], index: number): number | null {
  const last = versions.length - 1;
  return index >= last ? null : versions[Math.max(index, 0)].policy_version;
}

/** Index of a version, or of the nearest older one. */
function indexOf(versions: readonly VersionView[], chosen: number): number {
  const later = versions.findIndex((version) => version.policy_version > chosen);
  return Math.max(0, (later < 0 ? versions.length : later) - 1);
}
