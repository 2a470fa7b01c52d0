/** Where the page is, kept in the URL's fragment so that reload, back and links work under any prefix. */

import { type ChartView, chartViewIn, putChartView } from "./state/chart-view.ts";
import { keptCharts } from "./state/kept-view.ts";
import { formatTableView, parseTableView } from "./state/run-table.ts";

/** Which picture the cabinet of a run shows. */
export type Stage = "watch" | "play";

/** Parts of a run's page, in the order of their tabs; the first is the page itself. */
export const RUN_TABS = ["overview", "charts", "play", "workers", "settings", "log"] as const;
export type RunTab = (typeof RUN_TABS)[number];

/**
 * `at`: game time of a recorded episode in seconds, below 0 counted from its end; null: from its start. `beside`: another episode
 * of the run, or `RUN:EPISODE` of another, that plays in step with it. `file` is the page for an episode from a file.
 *
 * A finding of `attract ci` is found by the folder of its report and the file of its episode; `game` is its game here.
 *
 * `version`: the one that plays; null: the newest. `from`: a run whose settings the start form begins with; `set`: by path, what is
 * changed of them. `tab`: the part of a run's page; missing: its overview.
 *
 * `search` of the runs: the table's view, which `state/run-table.ts` reads; empty: as usual. `#/compare?runs=A,B` was their
 * comparison: it leads to these runs, ticked.
 */
export type Route =
  | { view: "start"; game: string | null; from: string | null; set?: Readonly<Record<string, string>> }
  | { view: "game"; name: string }
  | { view: "runs"; search: string; charts: ChartView }
  | { view: "access" }
  | { view: "tuning" }
  | { view: "study"; name: string }
  | { view: "file" }
  | { view: "finding"; game: string; folder: string; file: string }
  | { view: "episode"; runId: string; episodeId: string; at: number | null; beside: string | null }
  | {
      view: "run";
      runId: string;
      tab?: RunTab;
      stage: Stage;
      charts: ChartView;
      version: number | null;
    };

/** The route a fragment names; anything unknown is the start page. */
export function parseRoute(fragment: string): Route {
  const [path, query] = fragment.replace(/^#/, "").split("?", 2);
  const search = new URLSearchParams(query ?? "");
  const parts = path.split("/").filter((part) => part !== "");
  if ((parts[0] === "runs" || parts[0] === "compare") && parts.length === 1) {
    const runs = search.get("runs");
    if (runs) search.set("q", `is:all id=${runs}`);
    if (runs) search.set("ticked", runs);
    const [charts, metric] = [chartViewIn(search), search.get("metric")];
    const pinned = metric === null ? charts.pinned : [...new Set([metric, ...charts.pinned])];
    return {
      view: "runs",
      search: formatTableView(parseTableView(search.toString())),
      charts: { ...charts, pinned },
    };
  }
  if (parts[0] === "games" && parts.length > 1)
    return { view: "game", name: parts.slice(1).map(decode).join("/") };
  if (parts[0] === "access" && parts.length === 1) return { view: "access" };
  if (parts[0] === "tuning" && parts.length === 1) return { view: "tuning" };
  if (parts[0] === "tuning" && parts.length === 2) return { view: "study", name: decode(parts[1]) };
  const tab = RUN_TABS.slice(1).find((name) => name === parts[2]);
  if (parts[0] === "runs" && (parts.length === 2 || (parts.length === 3 && tab !== undefined))) {
    return {
      view: "run",
      runId: decode(parts[1]),
      ...(tab === undefined ? {} : { tab }),
      stage: search.get("stage") === "play" ? "play" : "watch",
      charts: chartViewIn(search),
      version: versionIn(search.get("version")),
    };
  }
  if (parts[0] === "episode-file" && parts.length === 1) return { view: "file" };
  if (parts[0] === "findings" && parts.length === 3) {
    const [folder, file] = parts.slice(1).map(decode);
    return { view: "finding", game: search.get("game") ?? "", folder, file };
  }
  if (parts[0] === "runs" && parts[2] === "episodes" && parts.length === 4) {
    const [runId, episodeId] = [decode(parts[1]), decode(parts[3])];
    return { view: "episode", runId, episodeId, at: secondsIn(search.get("at")), beside: search.get("with") };
  }
  const start = { view: "start", game: search.get("game"), from: search.get("from") } as const;
  const set = search.getAll("set").map((text) => text.split(/=(.*)/s, 2) as [string, string]);
  return set.length === 0 ? start : { ...start, set: Object.fromEntries(set) };
}

/** The fragment of a route, with `#`; what is as usual is left out. */
export function formatRoute(route: Route): string {
  if (route.view === "access" || route.view === "tuning") return `#/${route.view}`;
  if (route.view === "game") return `#/games/${route.name.split("/").map(encodeURIComponent).join("/")}`;
  if (route.view === "study") return `#/tuning/${encodeURIComponent(route.name)}`;
  if (route.view === "file") return "#/episode-file";
  const search = new URLSearchParams();
  if (route.view === "runs") {
    const table = new URLSearchParams(route.search);
    putChartView(table, route.charts);
    return withSearch("#/runs", table);
  }
  if (route.view === "episode") {
    if (route.at !== null) search.set("at", String(route.at));
    if (route.beside !== null) search.set("with", route.beside);
    const path = `#/runs/${encodeURIComponent(route.runId)}/episodes/${encodeURIComponent(route.episodeId)}`;
    return withSearch(path, search);
  }
  if (route.view === "finding") {
    search.set("game", route.game);
    const path = `#/findings/${encodeURIComponent(route.folder)}/${encodeURIComponent(route.file)}`;
    return withSearch(path, search);
  }
  if (route.view === "start") {
    if (route.game !== null) search.set("game", route.game);
    if (route.from !== null) search.set("from", route.from);
    for (const [path, value] of Object.entries(route.set ?? {})) search.append("set", `${path}=${value}`);
    return withSearch("#/", search);
  }
  if (route.stage !== "watch") search.set("stage", route.stage);
  if (route.version !== null) search.set("version", String(route.version));
  putChartView(search, route.charts);
  const part = (route.tab ?? "overview") === "overview" ? "" : `/${route.tab}`;
  return withSearch(`#/runs/${encodeURIComponent(route.runId)}${part}`, search);
}

/** The route to the table of runs; charts are as they were looked at last. */
export function runsRoute(search = ""): Extract<Route, { view: "runs" }> {
  return { view: "runs", search, charts: keptCharts() };
}

/** The route to a run or a part of its page; charts are as they were looked at last. */
export function runRoute(runId: string, tab: RunTab = "overview"): Route {
  return { view: "run", runId, tab, stage: "watch", charts: keptCharts(), version: null };
}

/** The route to the page of a game. */
export function gameRoute(name: string): Route {
  return { view: "game", name };
}

/** The route to an episode of a run, from `at` on. */
export function episodeRoute(runId: string, episodeId: string, at: number | null = null): Route {
  return { view: "episode", runId, episodeId, at, beside: null };
}

/** The token in a fragment such as `#token=...`, or null. */
export function tokenInFragment(fragment: string): string | null {
  return inLink(fragment, "token");
}

/** Whether a token is that of a link for people who may only look, as the server writes it. */
export function isViewerToken(token: string): boolean {
  return /^invite\.[^.]+\.viewer\./.test(token);
}

/** The fragment of the page that a link with a token opens: `#token=...&run=X` has a run's. */
export function pageOfLink(fragment: string): string {
  const runId = inLink(fragment, "run");
  return runId === null ? "#/" : formatRoute(runRoute(runId));
}

function inLink(fragment: string, name: string): string | null {
  const text = fragment.replace(/^#/, "");
  if (text.startsWith("/")) return null;
  return new URLSearchParams(text).get(name) || null;
}

function secondsIn(text: string | null): number | null {
  const seconds = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(seconds) ? seconds : null;
}

function versionIn(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function withSearch(path: string, search: URLSearchParams): string {
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
