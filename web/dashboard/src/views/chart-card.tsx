/** One chart with its head: what it is, its newest values, and what can be done with it. */

import { ActionIcon, Button, Checkbox, Group, Modal, Paper, useComputedColorScheme } from "@mantine/core";
import { type CSSProperties, memo, type ReactNode, useMemo, useRef, useState } from "react";
import { Help } from "../components/help.tsx";
import type { Zoomed } from "../hooks/use-detail.ts";
import { useInSight } from "../hooks/use-in-sight.ts";
import type { ChartCursor } from "../state/chart-cursor.ts";
import { AXIS_NAMES } from "../state/chart-text.ts";
import { type ChartView, toggled, zoomedTo } from "../state/chart-view.ts";
import { csvOf, extremesOf, tableOf } from "../state/drawn-lines.ts";
import { formatNumber } from "../state/format.ts";
import type { LessonMark } from "../state/lessons.ts";
import type { Panel } from "../state/panels.ts";
import { type ChartRun, panelLines } from "../state/run-lines.ts";
import { pausesOf, placeAlong, placesOf, RETURN } from "../state/series.ts";
import { type PlacedVersion, placeOn } from "../state/versions.ts";
import { CHART_COLORS } from "../theme.ts";
import { ChartTable } from "./chart-table.tsx";
import { Plot } from "./plot.tsx";
import type { Level, Mark } from "./plot-options.ts";
import { savePicture, saveText } from "./save-chart.ts";

/** What is marked in the charts of one run. */
export interface RunMarks {
  readonly goal: number | null;
  /** Mean return of random play; null: not measured. */
  readonly randomReturn: number | null;
  readonly lessons: readonly LessonMark[];
  /** The best and the evaluated ones are marks. */
  readonly versions: readonly PlacedVersion[];
}

/** What all charts of a page share. */
export interface Shown extends Zoomed<ChartRun> {
  /** Of files that are saved. */
  readonly name: string;
  readonly view: ChartView;
  readonly onView: (view: ChartView) => void;
  /** null: several runs have none in common. */
  readonly marks: RunMarks | null;
  /** As `panelLines`. */
  readonly baseline: string | null;
  /** Why charts without a value have none; null: they will. */
  readonly nothing: string | null;
  readonly cursor: ChartCursor;
}

interface ChartCardProps {
  panel: Panel;
  heading: "h2" | "h4";
  /** The version whose place is marked. */
  standing?: PlacedVersion;
  shown: Shown;
  /** Whether it fills the window. */
  isLarge?: boolean;
  children?: ReactNode;
}

/** A small chart of more lines has no legend: the colours are those of the table. */
const MAX_LEGEND = 6;

export function ChartCard(props: ChartCardProps) {
  const { panel, shown, isLarge = false } = props;
  const { sight, isInSight } = useInSight();
  // A chart out of sight, or of a hidden page, stays as it was: it costs nothing.
  const held = useRef(props);
  if (isInSight || isLarge) held.current = props;
  const points = panel.lines.flatMap(({ metric }) =>
    shown.runs.map(({ series }) => series[metric]?.steps.length ?? 0),
  );
  const figure = (
    <Paper
      component="figure"
      ref={sight}
      withBorder={!isLarge}
      m={0}
      p="14px 14px 8px"
      display="flex"
      style={{ flexDirection: "column" }}
      data-metric={panel.id}
      data-points={Math.max(0, ...points)}
      data-lines={panel.lines.length}
      data-runs={shown.runs.length}
      data-large={isLarge}
    >
      <Body {...held.current} />
      {props.children}
    </Paper>
  );
  return isLarge ? (
    <Modal
      opened
      size="min(1400px, 96vw)"
      padding={0}
      withCloseButton={false}
      attributes={{ content: { "aria-label": "Chart" } }}
      onClose={() => shown.onView({ ...shown.view, large: null })}
    >
      {figure}
    </Modal>
  ) : (
    figure
  );
}

const Body = memo(function Body({
  panel,
  heading: Heading,
  standing,
  shown,
  isLarge = false,
}: ChartCardProps) {
  const { view, onView, range, cursor } = shown;
  const scheme = useComputedColorScheme("light");
  const [hasTable, setTable] = useState(false);
  const colours = CHART_COLORS[scheme].lines;
  const { runs, baseline } = shown;
  const lines = useMemo(
    () => panelLines(panel, runs, { axis: view.axis, colours, baseline }),
    [panel, runs, view.axis, colours, baseline],
  );
  const marks = useMarks(panel, shown, standing);
  const { goal = null, randomReturn = null } = shown.marks ?? {};
  const levels = useMemo(() => levelsOf(panel, goal, randomReturn), [panel, goal, randomReturn]);
  const isLog = panel.isLog !== view.log.includes(panel.id);
  const isPinned = view.pinned.includes(panel.id);
  const seen = isLarge ? extremesOf(tableOf(lines, 0), range) : null;
  const [first] = lines;
  const isOne = lines.length <= 1 && shown.marks !== null;
  const name = `${shown.name} ${panel.title}`.replaceAll(/[^\w.-]+/g, "-");
  return (
    <>
      <Group component="figcaption" gap={8} mb={6} wrap="nowrap">
        <Heading className="chart-title">
          {panel.title} <Help about={panel.title} text={panel.help} />
        </Heading>
        {isOne && (
          <output className="mono" aria-live="off" data-line={first?.id}>
            {formatNumber(first?.values.at(-1))}
          </output>
        )}
        <Group component="span" gap={2} wrap="nowrap">
          <ChartButton
            text={isPinned ? "Unpin" : "Pin"}
            about={panel.title}
            sign={isPinned ? "★" : "☆"}
            isOn={isPinned}
            onClick={() => onView({ ...view, pinned: toggled(view.pinned, panel.id) })}
          />
          <ChartButton
            text={isLarge ? "Close" : "Enlarge"}
            about={panel.title}
            sign={isLarge ? "×" : "⤢"}
            isFirst={isLarge}
            onClick={() => onView({ ...view, large: isLarge ? null : panel.id })}
          />
        </Group>
      </Group>
      {!isOne && (isLarge || lines.length <= MAX_LEGEND) && (
        <ul className="chart-legend">
          {lines.map((line) => (
            <li key={line.id} style={{ "--series": line.color } as CSSProperties}>
              {line.name}{" "}
              <output className="mono" aria-live="off" data-line={line.id}>
                {formatNumber(line.values.at(-1))}
              </output>
            </li>
          ))}
        </ul>
      )}
      <Plot
        id={`${isLarge ? "large " : ""}${panel.id}`}
        title={panel.title}
        unit={panel.unit}
        lines={lines}
        levels={levels}
        marks={marks}
        axis={view.axis}
        range={range}
        smooth={view.smooth}
        isLog={isLog}
        isCut={view.isCut}
        nothing={shown.nothing ?? panel.nothing}
        cursor={cursor}
        onRange={(to) => onView(zoomedTo(view, to))}
      />
      {isLarge && (
        <Group gap="8px 16px" pt={10} pb={6} fz={13}>
          <Checkbox
            size="xs"
            label="Log axis"
            checked={isLog}
            onChange={() => onView({ ...view, log: toggled(view.log, panel.id) })}
          />
          <Checkbox size="xs" label="Table" checked={hasTable} onChange={() => setTable(!hasTable)} />
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => saveText(`${name}.csv`, csvOf(lines, AXIS_NAMES[view.axis].toLowerCase()))}
          >
            Save CSV
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            onClick={(event) => savePicture(`${name}.png`, event.currentTarget, panel.title)}
          >
            Save PNG
          </Button>
          {seen !== null && (
            <span className="soft" data-testid="extremes" data-low={seen[0]} data-high={seen[1]}>
              {formatNumber(seen[0])} to {formatNumber(seen[1])} in sight
            </span>
          )}
        </Group>
      )}
      {isLarge && hasTable && <ChartTable title={panel.title} lines={lines} axis={view.axis} range={range} />}
    </>
  );
});

interface ChartButtonProps {
  text: string;
  about: string;
  sign: string;
  isOn?: boolean;
  /** Whether it has the focus when its dialog opens. */
  isFirst?: boolean;
  onClick: () => void;
}

function ChartButton({ text, about, sign, isOn, isFirst, onClick }: ChartButtonProps) {
  return (
    <ActionIcon
      c={isOn ? "inherit" : "dimmed"}
      aria-label={`${text} ${about}`}
      title={text}
      aria-pressed={isOn}
      data-autofocus={isFirst || undefined}
      onClick={onClick}
    >
      {sign}
    </ActionIcon>
  );
}

function levelsOf({ id }: Panel, goal: number | null, randomReturn: number | null): Level[] {
  if (id !== RETURN) return [];
  const levels: Level[] = [];
  if (goal !== null) levels.push({ value: goal, name: "goal", dash: [6, 6], isAlwaysShown: false });
  if (randomReturn !== null)
    levels.push({ value: randomReturn, name: "random play", dash: [2, 3], isAlwaysShown: true });
  return levels;
}

/** Lessons in every chart; pauses where the axis does not show them; evaluations, the best and the chosen version in the return's. */
function useMarks(panel: Panel, { runs, view, marks: of }: Shown, standing?: PlacedVersion): Mark[] {
  const { axis } = view;
  const { series = {} } = runs[0] ?? {};
  const curve = series[panel.lines.find(({ metric }) => series[metric] !== undefined)?.metric ?? ""];
  return useMemo(() => {
    const at = (steps: number) =>
      curve === undefined ? undefined : placeAlong(curve.steps, placesOf(curve, axis), steps);
    const mark = (kind: Mark["kind"], steps: number, text = ""): Mark[] => {
      const x = axis === "steps" ? steps : at(steps);
      return x === undefined ? [] : [{ kind, x, text }];
    };
    if (of === null) return [];
    const { lessons, versions } = of;
    const isTime = axis === "time" || axis === "clock";
    const marks = lessons.flatMap(({ steps, name }) => mark("lesson", steps, name));
    if (!isTime) marks.push(...pausesOf(curve).flatMap((steps) => mark("pause", steps)));
    if (panel.id !== RETURN) return marks;
    for (const version of versions) {
      if (version.evaluations.length > 0) marks.push(...mark("evaluation", version.agent_steps));
      if (version.best) marks.push(...mark("best", version.agent_steps, "best"));
    }
    if (standing !== undefined) marks.push({ kind: "version", x: placeOn(standing, axis), text: "" });
    return marks;
  }, [panel, curve, axis, of, standing]);
}
