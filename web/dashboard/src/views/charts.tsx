/** The charts of a run: pinned ones first, then group by group, as the address says. */

import { type ReactNode, useMemo, useRef } from "react";
import { useDefinitions } from "../hooks/use-definitions.ts";
import { useDetail } from "../hooks/use-detail.ts";
import { ChartCursor } from "../state/chart-cursor.ts";
import { type ChartView, toggled } from "../state/chart-view.ts";
import { LESSON_METRIC, type LessonMark, lessonMarks } from "../state/lessons.ts";
import { type Panel, type PanelGroup, panelGroups, shownGroups } from "../state/panels.ts";
import { RETURN, type SeriesByName } from "../state/series.ts";
import type { PlacedVersion } from "../state/versions.ts";
import { ChartCard, type Shown } from "./chart-card.tsx";
import { ChartControls } from "./chart-controls.tsx";

export interface ChartsProps {
  runId: string;
  series: SeriesByName;
  view: ChartView;
  onView: (view: ChartView) => void;
  goal: number | null;
  /** Mean return of random play; null: not measured. */
  randomReturn: number | null;
  /** Names of the run's lessons, in order. */
  lessonNames: readonly string[];
  /** Versions of the run: the best and the evaluated ones are marks. */
  versions: readonly PlacedVersion[];
  isLoading: boolean;
  /** Whether the run makes no more updates. */
  isOver: boolean;
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

/** The groups of a run, and what all of its charts share. `only`: the charts of them that are shown. */
function useCharts(
  props: ChartsProps,
  only: readonly string[] | null,
): { groups: PanelGroup[]; shown: Shown } {
  const { runId, series, view, onView, goal, randomReturn, versions, isLoading, isOver } = props;
  const definitions = useDefinitions();
  const known = Object.keys(series).sort().join("\n");
  const groups = useMemo(
    () => (definitions === null ? [] : panelGroups(definitions, known.split("\n").filter(Boolean))),
    [definitions, known],
  );
  const lessons = useSame(lessonMarks(series[LESSON_METRIC], props.lessonNames));
  const large = view.large === null ? [] : [view.large];
  const seen = only === null ? openPanels(groups, view) : panelsOf(groups, only);
  const open = metricsOf([...seen, ...panelsOf(groups, large)]);
  const zoom = useDetail(runId, series, view, open);
  const nothing = isLoading ? "Loading" : isOver ? "The run ended before there was any" : null;
  const shown: Shown = {
    ...zoom,
    runId,
    view,
    onView,
    goal,
    randomReturn,
    lessons,
    versions,
    nothing,
    cursor: CURSOR,
  };
  return { groups, shown };
}

/** The charts that are not folded away. */
function openPanels(groups: readonly PanelGroup[], view: ChartView): Panel[] {
  const open = shownGroups(groups, view.pinned, view.find).filter((group) => isOpenIn(group, view));
  return open.flatMap(({ panels }) => panels);
}

function panelsOf(groups: readonly PanelGroup[], ids: readonly string[]): Panel[] {
  return groups.flatMap(({ panels }) => panels.filter(({ id }) => ids.includes(id)));
}

function metricsOf(panels: readonly Panel[]): string[] {
  return [...new Set(panels.flatMap(({ lines }) => lines.map(({ metric }) => metric)))];
}

/** A search opens every group. */
function isOpenIn({ id, isOpen }: PanelGroup, { folded, find }: ChartView): boolean {
  return find !== "" || isOpen !== folded.includes(id);
}

/** The previous list of marks while it is equal: a new list would draw every chart again. */
function useSame(marks: readonly LessonMark[]): readonly LessonMark[] {
  const before = useRef(marks);
  if (JSON.stringify(before.current) !== JSON.stringify(marks)) before.current = marks;
  return before.current;
}

function Group({ group, shown }: { group: PanelGroup; shown: Shown }) {
  const { view, onView } = shown;
  const isOpen = isOpenIn(group, view);
  const onToggle = (isOpenNow: boolean) => {
    if (isOpenNow !== isOpen && view.find === "") onView({ ...view, folded: toggled(view.folded, group.id) });
  };
  return (
    <details className="chart-group" open={isOpen} onToggle={(event) => onToggle(event.currentTarget.open)}>
      <summary>
        <h3 className="label">{group.title}</h3>
        {!isOpen && <span className="soft">{group.panels.length}</span>}
      </summary>
      {/* Folded charts are not drawn: each costs as much again with every update. */}
      {isOpen && (
        <div className="charts">
          {group.panels.map((panel: Panel) => (
            <ChartCard key={panel.id} panel={panel} heading="h4" shown={shown} />
          ))}
        </div>
      )}
    </details>
  );
}
