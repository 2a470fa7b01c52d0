/** The table of runs: its view in the address, groups of runs, and settings as texts. */

import type { RunRow } from "@attract/schema";

/** What the table shows. All of it is in the address. */
export interface TableView {
  query: string;
  /** A field or setting of the search, with `-` before it from the largest. */
  sort: string;
  /** "": one row per run; "seeds"; a field; or the path of a setting. */
  group: string;
  hidden: readonly string[];
  /** Metrics that have a column each. */
  metrics: readonly string[];
  /** Runs whose charts are shown, and which are labelled and deleted together. */
  ticked: readonly string[];
  /** Those of them whose lines are not drawn. */
  unseen: readonly string[];
  /** The one of them that the others are compared with; "": none. */
  baseline: string;
  /** Whether charts have the difference to it. */
  isDifference: boolean;
}

export const NEWEST_FIRST = "-created";
/** Finds the runs in the trash. */
export const TRASH = "is:deleted";

/** The view in a route's search; what is not there is as usual. */
export function parseTableView(search: string): TableView {
  const found = new URLSearchParams(search);
  return {
    query: found.get("q") ?? "",
    sort: found.get("sort") || NEWEST_FIRST,
    group: found.get("group") ?? "",
    hidden: listIn(found.get("hide")),
    metrics: listIn(found.get("metrics")),
    ticked: listIn(found.get("ticked")),
    unseen: listIn(found.get("unseen")),
    baseline: found.get("base") ?? "",
    isDifference: found.get("difference") === "1",
  };
}

/** Whether a search is of the runs in the trash. */
export function isOfTrash(query: string): boolean {
  return query.split(/\s+/).includes(TRASH);
}

/** The search of a view; what is as usual is left out. */
export function formatTableView(view: TableView): string {
  const { query, sort, group, hidden, metrics, ticked, unseen, baseline, isDifference } = view;
  const search = new URLSearchParams();
  if (query !== "") search.set("q", query);
  if (sort !== NEWEST_FIRST) search.set("sort", sort);
  if (group !== "") search.set("group", group);
  for (const [name, list] of Object.entries({ hide: hidden, metrics, ticked, unseen }))
    if (list.length > 0) search.set(name, list.join(","));
  if (baseline !== "") search.set("base", baseline);
  if (isDifference) search.set("difference", "1");
  return search.toString();
}

/** The sort after a press on a column: from the largest, from the smallest, then `usual`. */
export function nextSort(sort: string, column: string, usual: string = NEWEST_FIRST): string {
  if (sort === `-${column}`) return column;
  return sort === column ? usual : `-${column}`;
}

/** A row of the table: a run, or several runs that are one row until it is opened. */
export type Node<Row> =
  | { kind: "one"; id: string; row: Row }
  | { kind: "group"; id: string; label: string; rows: readonly Row[]; children: Node<Row>[] };

/** Runs as rows, in groups where one is asked for; groups in the order of their first run. */
export function groupRuns(runs: readonly RunRow[], group: string): Node<RunRow>[] {
  if (group === "") return runs.map(nodeOf);
  const groups = new Map<string, { label: string; rows: RunRow[] }>();
  for (const run of runs) {
    const { key, label } = groupOf(run, group);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { label, rows: [run] });
    else known.rows.push(run);
  }
  const labelIn = (label: string, rows: readonly RunRow[]) => {
    const sameGame = runs.filter(({ game }) => game === rows[0]?.game);
    return group === "seeds" ? [label, ...differencesOf(rows, sameGame)].join(", ") : label;
  };
  return [...groups].map(([key, { label, rows }]) => {
    const [only] = rows;
    return rows.length === 1 && only !== undefined && group === "seeds"
      ? nodeOf(only)
      : { kind: "group", id: `group ${key}`, label: labelIn(label, rows), rows, children: rows.map(nodeOf) };
  });
}

/** The runs of a row of the table. */
export function runsOf(node: Node<RunRow>): readonly RunRow[] {
  return node.kind === "group" ? node.rows : [node.row];
}

/** The rows from one to another, in the order of the table; the last one alone where the first is not there. */
export function rangeOf(
  nodes: readonly Node<RunRow>[],
  from: string,
  to: string | undefined,
): Node<RunRow>[] {
  const rows = nodes.flatMap((node) => (node.kind === "group" ? [node, ...node.children] : [node]));
  const [start, end] = [from, to].map((id) => rows.findIndex((row) => row.id === id));
  if (start === undefined || end === undefined || end < 0) return [];
  return start < 0 ? rows.slice(end, end + 1) : rows.slice(Math.min(start, end), Math.max(start, end) + 1);
}

function nodeOf(row: RunRow): Node<RunRow> {
  return { kind: "one", id: row.run_id, row };
}

function groupOf(run: RunRow, group: string): { key: string; label: string } {
  if (group === "game") return { key: run.game, label: run.title };
  if (group === "preset") return labelled(run.preset ?? "no preset");
  if (group === "state") return labelled(run.state);
  if (group === "tags") return labelled([...run.tags].sort().join(" ") || "no tag");
  if (group !== "seeds") return labelled(`${shortName(group)} ${settingText(run.settings[group])}`);
  const own = Object.entries(run.settings)
    .filter(([path]) => path !== "evaluation.seed")
    .map(([path, value]) => `${path}=${settingText(value)}`)
    .sort();
  return { key: [run.game, run.preset, ...own].join(" "), label: run.title };
}

function labelled(text: string): { key: string; label: string } {
  return { key: text, label: text };
}

/** The last part of a setting's path. */
export function shortName(path: string): string {
  return path.split(".").at(-1) ?? path;
}

/** A value as a search has it: unset as `none`; what a search cannot have as JSON. */
export function settingText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  const isPlain = (one: unknown) => typeof one !== "object" || one === null;
  if (Array.isArray(value) && value.every(isPlain)) return value.join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const FIELDS = [
  "game:",
  "tag:",
  "name:",
  "state:",
  "preset:",
  "return>",
  "best>",
  "eval>",
  "steps>",
  "seed:",
  "created>=",
  "is:starred",
  "is:live",
  "is:archived",
  "is:all",
  TRASH,
];

/** Completions of a search by a field or one of these settings, from two letters of its name on. */
export function completions(text: string, settings: readonly string[]): string[] {
  const word = text.split(/\s/).at(-1) ?? "";
  const head = text.slice(0, text.length - word.length);
  if (word.length < 2) return [];
  const lasts = settings.map(shortName);
  const names = settings.map((path, index) => {
    const last = lasts[index] ?? path;
    return lasts.filter((other) => other === last).length === 1 ? last : path;
  });
  const terms = [...FIELDS, ...names.map((name) => `${name}:`)];
  return terms.filter((term) => term.startsWith(word) && term !== word).map((term) => head + term);
}

/** Mean, least and largest of the numbers that are there; null without any. */
export function summaryOf(
  values: readonly (number | null)[],
): { mean: number; min: number; max: number; count: number } | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  const sum = known.reduce((total, value) => total + value, 0);
  return { mean: sum / known.length, min: Math.min(...known), max: Math.max(...known), count: known.length };
}

/** Several curves as one: at `points` places along them the mean and the extremes. */
export function bandOf(
  curves: readonly (readonly number[])[],
  points = 60,
): { mean: number[]; min: number[]; max: number[] } {
  const drawn = curves.filter((curve) => curve.length > 0);
  const band = { mean: [] as number[], min: [] as number[], max: [] as number[] };
  if (drawn.length === 0) return band;
  const count = Math.min(points, Math.max(...drawn.map((curve) => curve.length)));
  for (let place = 0; place < count; place++) {
    const share = count === 1 ? 0 : place / (count - 1);
    const values = drawn.map((curve) => curve[Math.round(share * (curve.length - 1))] ?? 0);
    const { mean, min, max } = summaryOf(values) ?? { mean: 0, min: 0, max: 0 };
    band.mean.push(mean);
    band.min.push(min);
    band.max.push(max);
  }
  return band;
}

/** Rows with newer ones in their places; null where a run came, went live or ended, so that the list is to be asked for anew. */
export function withLive(rows: readonly RunRow[], live: readonly RunRow[]): RunRow[] | null {
  const now = new Map(live.map((run) => [run.run_id, run]));
  for (const row of rows) {
    if (isLive(row) && !now.has(row.run_id)) return null;
  }
  const known = new Set(rows.map(({ run_id }) => run_id));
  if (live.some(({ run_id }) => !known.has(run_id))) return null;
  // The columns of the whole list are not those of the live runs alone.
  return rows.map((row) => {
    const newer = now.get(row.run_id);
    return newer === undefined ? row : { ...newer, settings: { ...row.settings, ...newer.settings } };
  });
}

/** How much more or less a number is than another, with its sign; empty where one is not known. */
export function differenceText(
  value: number | null,
  other: number | null,
  format: (value: number) => string,
): string {
  if (value === null || other === null) return "";
  const sign = value > other ? "+" : value < other ? "−" : "±";
  return `${sign}${format(Math.abs(value - other))}`;
}

/** Runs of equal settings by what tells them from the others of `all`: "gamma 0.9, 3 seeds". */
export function bandName(rows: readonly RunRow[], all: readonly RunRow[]): string {
  const games = new Set(all.map(({ game }) => game)).size > 1 ? rows.slice(0, 1) : [];
  return [...games.map(({ title }) => title), ...differencesOf(rows, all), `${rows.length} seeds`].join(", ");
}

/** Name, colour and group of each run in charts: the seeds of equal settings are a group where there are several settings. */
export function runStyles(
  rows: readonly RunRow[],
  colours: readonly string[],
): { id: string; name: string; colour: string; group?: string }[] {
  const groups = groupRuns(rows, "seeds");
  return groups.flatMap((node, index) => {
    const members = runsOf(node);
    const isBand = node.kind === "group" && groups.length > 1;
    return members.map((row, place) => ({
      id: row.run_id,
      name: row.name || row.run_id,
      colour: colours[(isBand ? index : index + place) % colours.length] ?? "#888888",
      ...(isBand ? { group: bandName(members, rows) } : {}),
    }));
  });
}

/** Whether a run is running. */
export function isLive({ state }: Pick<RunRow, "state">): boolean {
  return ["starting", "running", "paused", "evaluating"].includes(state);
}

/** A nested mapping of settings as one by path, each as a text. */
export function flatSettings(settings: Readonly<Record<string, unknown>>, prefix = ""): Map<string, string> {
  const flat = new Map<string, string>();
  for (const [name, value] of Object.entries(settings)) {
    const path = `${prefix}${name}`;
    const isSection = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isSection && path !== "parameters" && Object.keys(value).length > 0)
      for (const [inner, text] of flatSettings(value as Record<string, unknown>, `${path}.`))
        flat.set(inner, text);
    else flat.set(path, settingText(value));
  }
  return flat;
}

/** Paths of the settings that differ among rows of one list. */
export function differentSettings(rows: readonly RunRow[]): string[] {
  const paths = new Set(rows.flatMap(({ settings }) => Object.keys(settings)));
  const textsOf = (path: string) => new Set(rows.map(({ settings }) => settingText(settings[path])));
  return [...paths].filter((path) => textsOf(path).size > 1);
}

/** What tells runs of equal settings from the others of `all`, such as "gamma 0.9". */
export function differencesOf([first]: readonly RunRow[], all: readonly RunRow[]): string[] {
  if (first === undefined) return [];
  const paths = differentSettings(all).filter((path) => path !== "evaluation.seed");
  const parts = paths.map((path) => `${shortName(path)} ${settingText(first.settings[path])}`);
  const isMixed = new Set(all.map(({ preset }) => preset)).size > 1;
  return isMixed ? [first.preset ?? "no preset", ...parts] : parts;
}

/** A setting of several runs: one text for each run. */
export interface ComparedSetting {
  path: string;
  texts: string[];
}

/** The settings of several runs, those that differ and those that are equal, each in the order of the first run. */
export function compareSettings(runs: readonly Readonly<Record<string, unknown>>[]): {
  different: ComparedSetting[];
  equal: ComparedSetting[];
} {
  const flat = runs.map((settings) => flatSettings(settings));
  const paths = new Set(flat.flatMap((settings) => [...settings.keys()]));
  const all = [...paths].map((path) => ({ path, texts: flat.map((one) => one.get(path) ?? "–") }));
  const isEqual = ({ texts }: ComparedSetting) => texts.every((text) => text === texts[0]);
  return { different: all.filter((one) => !isEqual(one)), equal: all.filter(isEqual) };
}

function listIn(text: string | null): string[] {
  return [...new Set((text ?? "").split(",").filter((part) => part !== ""))];
}
