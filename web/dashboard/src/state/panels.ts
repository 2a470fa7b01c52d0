/** Which charts a run has, and which lines stand in each: by what the server says that metrics mean. */

import type { MetricDefinitions, MetricFamily, MetricInfo } from "@attract/schema";
import { RETURN } from "./series.ts";

export interface PanelLine {
  readonly metric: string;
  /** Its name beside the other lines. */
  readonly name: string;
  /** `evaluation`: dots, since there are few; `part`: of one policy, agent or reward term. */
  readonly role: "main" | "evaluation" | "part";
}

export interface Panel {
  /** The metric of its first line, also where that one is missing; for a family in one chart the family's name. */
  readonly id: string;
  readonly title: string;
  readonly help: string;
  readonly unit: string;
  readonly group: string;
  readonly isLog: boolean;
  readonly lines: readonly PanelLine[];
  /** What stands in its place before there is a value. */
  readonly nothing: string;
}

export interface PanelGroup {
  readonly id: string;
  readonly title: string;
  readonly isOpen: boolean;
  readonly panels: readonly Panel[];
}

/** Charts that stand there even before there is a value. */
const ALWAYS = [RETURN, "rollout/ep_len_mean", "fleet/steps_per_second"];
const WITH_EPISODES = [RETURN, "rollout/ep_len_mean"];
const MAX_NAME_PARTS = 2;

/** The charts for these metrics, group by group in the order of the definitions; groups without any are left out. */
export function panelGroups(definitions: MetricDefinitions, names: readonly string[]): PanelGroup[] {
  const infos = new Map(definitions.metrics.map((info) => [info.name, info]));
  const order = new Map(definitions.metrics.map(({ name }, place) => [name, place]));
  const panels = new Map<string, Panel>();
  for (const id of ALWAYS) if (infos.has(id)) panels.set(id, panelOf(id, infos, definitions));
  const place = (name: string) => order.get(wholeOf(name)) ?? order.size;
  for (const name of [...names].sort((a, b) => place(a) - place(b) || compare(a, b))) {
    const whole = wholeOf(name);
    const info = infos.get(whole);
    if (info?.is_shown === false) continue;
    const family = info === undefined ? familyOf(name, definitions) : undefined;
    const isShared = family !== undefined && family.chart_title !== null;
    const id = isShared ? family.name : (info?.chart ?? whole);
    const panel = panels.get(id) ?? panelOf(id, infos, definitions);
    panels.set(id, { ...panel, lines: [...panel.lines, lineOf(name, info, isShared)] });
  }
  const all = [...panels.values()];
  return definitions.groups
    .map(({ id, title, is_open }) => ({
      id,
      title,
      isOpen: is_open,
      panels: all.filter((panel) => panel.group === id),
    }))
    .filter(({ panels }) => panels.length > 0);
}

/** The groups as they are looked at: pinned charts first, in a group of their own, and only what has the text of a search. */
export function shownGroups(
  groups: readonly PanelGroup[],
  pinned: readonly string[],
  find: string,
): PanelGroup[] {
  const all = groups.flatMap(({ panels }) => panels);
  const first = pinned.flatMap((id) => all.find((panel) => panel.id === id) ?? []);
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = (panel: Panel, group: string) => {
    const lines = panel.lines.flatMap(({ metric, name }) => [metric, name]);
    const text = [panel.id, panel.title, group, ...lines].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return [
    { id: "pinned", title: "Pinned", isOpen: true, panels: first },
    ...groups.map((group) => ({ ...group, panels: group.panels.filter(({ id }) => !pinned.includes(id)) })),
  ]
    .map((group) => ({ ...group, panels: group.panels.filter((panel) => isFound(panel, group.title)) }))
    .filter(({ panels }) => panels.length > 0);
}

/** What one metric means where it stands alone, in an overlay of runs for instance. */
export function panelOfMetric(definitions: MetricDefinitions, name: string): Panel {
  const infos = new Map(definitions.metrics.map((info) => [info.name, info]));
  const panel = panelOf(name, infos, definitions);
  return { ...panel, lines: [{ metric: name, name: panel.title, role: "main" }] };
}

/** `train/loss` of `train/loss/scout`. */
function wholeOf(name: string): string {
  return name.split("/").slice(0, MAX_NAME_PARTS).join("/");
}

function partOf(name: string): string {
  return words(name.split("/").slice(MAX_NAME_PARTS).join("/"));
}

function panelOf(id: string, infos: ReadonlyMap<string, MetricInfo>, definitions: MetricDefinitions): Panel {
  const whole = wholeOf(id);
  const info = infos.get(whole);
  const family = familyOf(id, definitions);
  const isFamily = family !== undefined && family.name === id;
  const title = info?.title ?? (isFamily ? family.chart_title : null) ?? capital(words(whole));
  const part = partOf(id);
  return {
    id,
    title: part === "" ? title : `${title}: ${part}`,
    help: sentenceOf(info, family, whole),
    unit: info?.unit ?? (isFamily ? "reward" : ""),
    group: info?.group ?? family?.group ?? definitions.groups[definitions.groups.length - 1].id,
    isLog: info?.is_log ?? false,
    lines: [],
    nothing: WITH_EPISODES.includes(id)
      ? "Comes with the first episode that ends"
      : "Comes with the first update",
  };
}

function sentenceOf(info: MetricInfo | undefined, family: MetricFamily | undefined, name: string): string {
  if (info !== undefined) {
    const better = info.better === null ? "" : ` ${capital(info.better)} is better.`;
    return `${info.help}${better}`;
  }
  return family?.help ?? `${capital(words(name))}, as the run recorded it.`;
}

function lineOf(name: string, info: MetricInfo | undefined, isShared: boolean): PanelLine {
  const part = partOf(name);
  const whole = info === undefined ? words(wholeOf(name)) : info.line || info.title;
  const isEvaluation = name.startsWith("eval");
  if (isShared) return { metric: name, name: words(name.slice(name.indexOf("/") + 1)), role: "part" };
  if (part === "") return { metric: name, name: whole, role: isEvaluation ? "evaluation" : "main" };
  const isNamed = info !== undefined && info.line !== "" && (info.chart !== null || isEvaluation);
  return {
    metric: name,
    name: isNamed ? `${part}, ${info.line}` : part,
    role: isEvaluation ? "evaluation" : "part",
  };
}

function familyOf(name: string, { families }: MetricDefinitions): MetricFamily | undefined {
  const prefix = name.split("/", 1)[0];
  return families.find((family) => family.name === prefix);
}

/** "ep_rew_mean" of "rollout/ep_rew_mean", as words. */
function words(name: string): string {
  return name.slice(name.indexOf("/") + 1).replaceAll("_", " ");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Numbers in names count: agent 2 before agent 10. */
function compare(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}
