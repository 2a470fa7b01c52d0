/** Charts of one run or several: pinned ones first, then group by group, as the address says. */

import { Box, SimpleGrid } from "@mantine/core";
import { type ReactNode, useMemo } from "react";
import { useDefinitions } from "../hooks/use-definitions.ts";
import { useDetail } from "../hooks/use-detail.ts";
import { ChartCursor } from "../state/chart-cursor.ts";
import { type ChartView, toggled } from "../state/chart-view.ts";
import { type Panel, type PanelGroup, panelGroups, shownGroups } from "../state/panels.ts";
import { RETURN } from "../state/series.ts";
import type { PlacedVersion } from "../state/versions.ts";
import { ChartCard, type Shown } from "./chart-card.tsx";
import { ChartControls } from "./chart-controls.tsx";

export interface ChartsProps extends Omit<Shown, "span" | "range" | "cursor"> {
  /** Names of all metrics that the runs have. */
  names: readonly string[];
}

interface ReturnProps {
  /** The version whose place is marked; undefined: none. */
  mark: PlacedVersion | undefined;
  /** What stands under the chart. */
  children: ReactNode;
}

/** One for all charts of the page. */
const CURSOR = new ChartCursor();

/** The learning curve, which stands beside the game. */
export function ReturnChart({ mark, children, ...props }: ChartsProps & ReturnProps) {
  const { groups, shown } = useCharts(props, [RETURN]);
  const [panel] = panelsOf(groups, [RETURN]);
  if (panel === undefined) return null;
  return (
    <>
      <ChartCard panel={panel} heading="h2" standing={mark} shown={shown}>
        {children}
      </ChartCard>
      <LargeChart groups={groups} shown={shown} />
    </>
  );
}

/** The pinned charts, below the game and its learning curve. */
export function PinnedCharts(props: ChartsProps) {
  const pinned = props.view.pinned.filter((id) => id !== RETURN);
  const { groups, shown } = useCharts(props, pinned);
  const [group] = shownGroups(groups, pinned, "");
  return group?.id === "pinned" && <Group group={group} shown={shown} />;
}

/** All charts, with what they are looked at by. */
export function Charts(props: ChartsProps) {
  const { view, onView } = props;
  const { groups, shown } = useCharts(props, null);
  const found = shownGroups(groups, view.pinned, view.find);
  return (
    <>
      <ChartControls view={view} onView={onView} span={shown.span} range={shown.range} hasSearch />
      {found.map((group) => (
        <Group key={group.id} group={group} shown={shown} />
      ))}
      {found.length === 0 && view.find !== "" && <p className="soft">No chart has “{view.find}”.</p>}
      <LargeChart groups={groups} shown={shown} />
    </>
  );
}

/** The chart that fills the window, if one does. */
function LargeChart({ groups, shown }: { groups: readonly PanelGroup[]; shown: Shown }) {
  const { view, onView, span, range } = shown;
  const [large] = panelsOf(groups, view.large === null ? [] : [view.large]);
  if (large === undefined) return null;
  return (
    <ChartCard key="large" panel={large} heading="h2" shown={shown} isLarge>
      <ChartControls view={view} onView={onView} span={span} range={range} />
    </ChartCard>
  );
}

/** The groups of charts that these metrics have; the same list as long as the names are. */
export function useGroups(names: readonly string[]): PanelGroup[] {
  const definitions = useDefinitions();
  const known = [...names].sort().join("\n");
  return useMemo(
    () => (definitions === null ? [] : panelGroups(definitions, known.split("\n").filter(Boolean))),
    [definitions, known],
  );
}

/** The metrics of the charts that are not folded away, and of `only` where that is given. */
export function shownMetrics(
  groups: readonly PanelGroup[],
  view: ChartView,
  only: readonly string[] | null = null,
): string[] {
  const open = shownGroups(groups, view.pinned, view.find).filter((group) => isOpenIn(group, view));
  const seen = only === null ? open.flatMap(({ panels }) => panels) : panelsOf(groups, only);
  const large = panelsOf(groups, view.large === null ? [] : [view.large]);
  return [...new Set([...seen, ...large].flatMap(({ lines }) => lines.map(({ metric }) => metric)))];
}

/** The groups, and what all of their charts share. `only`: the charts of them that are shown. */
function useCharts(
  { names, ...props }: ChartsProps,
  only: readonly string[] | null,
): { groups: PanelGroup[]; shown: Shown } {
  const groups = useGroups(names);
  const zoom = useDetail(props.runs, props.view, shownMetrics(groups, props.view, only));
  return { groups, shown: { ...props, ...zoom, cursor: CURSOR } };
}

function panelsOf(groups: readonly PanelGroup[], ids: readonly string[]): Panel[] {
  return groups.flatMap(({ panels }) => panels.filter(({ id }) => ids.includes(id)));
}

/** A search opens every group. */
function isOpenIn({ id, isOpen }: PanelGroup, { folded, find }: ChartView): boolean {
  return find !== "" || isOpen !== folded.includes(id);
}

function Group({ group, shown }: { group: PanelGroup; shown: Shown }) {
  const { view, onView } = shown;
  const isOpen = isOpenIn(group, view);
  const onToggle = (isOpenNow: boolean) => {
    if (isOpenNow !== isOpen && view.find === "") onView({ ...view, folded: toggled(view.folded, group.id) });
  };
  return (
    <Box
      component="details"
      mb={14}
      data-testid="chart-group"
      open={isOpen}
      onToggle={(event) => onToggle(event.currentTarget.open)}
    >
      <summary>
        <h3 className="label">{group.title}</h3>
        {!isOpen && <span className="soft"> {group.panels.length}</span>}
      </summary>
      {/* Folded charts are not drawn: each costs as much again with every update. */}
      {isOpen && (
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing={16}>
          {group.panels.map((panel: Panel) => (
            <ChartCard key={panel.id} panel={panel} heading="h4" shown={shown} />
          ))}
        </SimpleGrid>
      )}
    </Box>
  );
}
