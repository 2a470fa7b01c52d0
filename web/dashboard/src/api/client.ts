/** Calls to the server's HTTP API; every URL derives from the page's base, so that any prefix works. */

import type {
  AccessView,
  DeletedRun,
  DemonstrationEntry,
  EditLabels,
  EpisodeEntry,
  FleetView,
  GameEntry,
  GameReference,
  JoinLink,
  JoinRequest,
  LogView,
  MatchReport,
  MetricDefinitions,
  MetricsView,
  OpenedSession,
  PlaytestReport,
  Problem,
  RecordedEpisode,
  RunList,
  RunRow,
  RunView,
  ServerInfo,
  SettingProblem,
  SettingsForm,
  SettingsRequest,
  SettingsView,
  StudySummary,
  StudyView,
  VersionsView,
  ViewerLink,
} from "@attract/schema";
import { onlineManager } from "@tanstack/react-query";
import { KEY_HEADER, keepSessionKey, sessionKey } from "./session-key.ts";

/** The server said no, or could not be reached (`status` 0); `fix` is what mends it, where known. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly fix: string | null;
  /** Setting by setting, where settings were refused. */
  readonly problems: readonly SettingProblem[];
  /** The search that was probably meant. */
  readonly suggestion: string | null;

  constructor(status: number, message: string, fix: string | null, more: Partial<Problem> = {}) {
    super(message);
    this.status = status;
    this.fix = fix;
    this.problems = more.problems ?? [];
    this.suggestion = more.suggestion ?? null;
  }
}

/** The absolute URL of `path`, which is relative to the page's base. */
export function serverUrl(path: string, base: string = document.baseURI): URL {
  return new URL(path, new URL(".", base));
}

/** `api/runs/{id}{rest}`. */
export function runPath(runId: string, rest = ""): string {
  return `api/runs/${encodeURIComponent(runId)}${rest}`;
}

/** The ONNX model of one announced version; `policyId` names one of several policies, null is the sole one. */
export function policyPath(
  runId: string,
  version: number | "latest",
  policyId: string | null = null,
): string {
  const search = policyId === null ? "" : `?${new URLSearchParams({ policy: policyId })}`;
  return runPath(runId, `/policy/${version}.onnx${search}`);
}

/** `api/runs/{id}/episodes/{id}{rest}`: a recorded episode of a run. */
export function episodePath(runId: string, episodeId: string, rest = ""): string {
  return runPath(runId, `/episodes/${encodeURIComponent(episodeId)}${rest}`);
}

/** Part of a run's metrics: of these names, all where there are none, between two agent steps. */
export interface MetricsPart {
  names?: readonly string[];
  from?: number;
  to?: number;
}

/** The metrics of a run, downsampled to `maxPoints` per series. */
export function metricsPath(
  runId: string,
  maxPoints: number,
  { names = [], from, to }: MetricsPart = {},
): string {
  const search = new URLSearchParams({ max_points: String(maxPoints) });
  if (names.length > 0) search.set("names", names.join(","));
  if (from !== undefined) search.set("from", String(from));
  if (to !== undefined) search.set("to", String(to));
  return runPath(runId, `/metrics?${search}`);
}

/** What `GET /api/runs` takes; what is left out is as usual. */
export interface RunSearch {
  q?: string;
  sort?: string;
  limit?: number;
  after?: string;
  /** Names of metrics, with commas between. */
  metrics?: string;
}

/** A page of the list of runs. */
export function runsPath(search: RunSearch): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "api/runs" : `api/runs?${text}`;
}

/** The demonstrations of a game, by its description's id. */
export function demonstrationsPath(gameId: string, rest = ""): string {
  return `api/demonstrations${rest}?${new URLSearchParams({ game_id: gameId })}`;
}

export const api = {
  info: () => get<ServerInfo>("api/info"),
  games: () => get<GameEntry[]>("api/games"),
  /** One page of the runs that a search finds; without one the newest. */
  runList: (search: RunSearch = {}) => get<RunList>(runsPath(search)),
  /** Changes a run's labels; what is left out stays. */
  editRun: (runId: string, labels: Partial<EditLabels>) => change<RunRow>("PATCH", runPath(runId), labels),
  /** Moves a run to the trash. */
  deleteRun: (runId: string) => change<DeletedRun>("DELETE", runPath(runId)),
  /** Removes a run in the trash for good. */
  eraseRun: (trashId: string) => change<DeletedRun>("DELETE", `api/trash/${encodeURIComponent(trashId)}`),
  restoreRun: (trashId: string) => post<RunRow>(`api/trash/${encodeURIComponent(trashId)}/restore`),
  run: (runId: string) => get<RunView>(runPath(runId)),
  fleet: (runId: string) => get<FleetView>(runPath(runId, "/fleet")),
  log: (runId: string) => get<LogView>(runPath(runId, "/log")),
  metrics: (runId: string, maxPoints: number, part: MetricsPart = {}) =>
    get<MetricsView>(metricsPath(runId, maxPoints, part)),
  /** What metrics mean. */
  metricDefinitions: () => get<MetricDefinitions>("api/metrics"),
  versions: (runId: string) => get<VersionsView>(runPath(runId, "/versions")),
  /** Studies of `attract tune`, the one that changed last first. */
  studies: () => get<StudySummary[]>("api/studies"),
  study: (name: string) => get<StudyView>(`api/studies/${encodeURIComponent(name)}`),
  /** What `attract ci` found in builds of the project's games, the newest report first. */
  findings: () => get<PlaytestReport[]>("api/findings"),
  settingsForm: () => get<SettingsForm>("api/settings"),
  /** What a run of a game would use with some settings, or what is wrong with them; nothing is started. */
  trySettings: (request: Pick<SettingsRequest, "game"> & Partial<SettingsRequest>) =>
    post<SettingsView>("api/settings", request),
  startRun: (game: string, settings: Record<string, unknown>) =>
    post<RunView>("api/runs", { game, settings }),
  demonstrations: (gameId: string) => get<DemonstrationEntry[]>(demonstrationsPath(gameId)),
  keepDemonstration: (episode: RecordedEpisode) => post<DemonstrationEntry>("api/demonstrations", episode),
  /** What is left. */
  deleteDemonstration: (gameId: string, id: string) =>
    post<DemonstrationEntry[]>(demonstrationsPath(gameId, `/${encodeURIComponent(id)}/delete`)),
  /** The newest match of a run; null: there was none. */
  match: (runId: string) => get<MatchReport | null>(runPath(runId, "/match")),
  /** The recorded episodes that a run keeps, newest first. */
  episodes: (runId: string) => get<EpisodeEntry[]>(runPath(runId, "/episodes")),
  episode: (runId: string, episodeId: string) => get<RecordedEpisode>(episodePath(runId, episodeId)),
  /** Keeps what a person played, with a star. */
  keepEpisode: (runId: string, episode: RecordedEpisode) =>
    post<EpisodeEntry>(runPath(runId, "/episodes"), episode),
  starEpisode: (runId: string, episodeId: string, starred: boolean) =>
    post<unknown>(episodePath(runId, episodeId, "/star"), { starred }),
  deleteEpisode: (runId: string, episodeId: string) =>
    post<unknown>(episodePath(runId, episodeId, "/delete")),
  pause: (runId: string) => post<RunView>(runPath(runId, "/pause")),
  resume: (runId: string) => post<RunView>(runPath(runId, "/resume")),
  stop: (runId: string) => post<RunView>(runPath(runId, "/stop")),
  /** Lets an identity that was left out play again. */
  letIn: (runId: string, identity: string) => post<RunView>(runPath(runId, "/let-in"), { identity }),
  /** Sets aside every version of a run that is over after `version`. */
  rollBack: (runId: string, version: number) =>
    post<RunView>(runPath(runId, "/rollback"), { to_version: version }),
  join: (request: JoinRequest) => post<JoinLink>("api/join", request),
  /** A link for people who may only look; it opens the run's page, for null the start page. */
  viewerLink: (runId: string | null) => post<ViewerLink>("api/viewer-link", { run_id: runId }),
  /** Who may come in: sessions and join links. */
  access: () => get<AccessView>("api/access"),
  /** Ends a session or a join link. */
  revoke: (entryId: string) => post<AccessView>(`api/access/${encodeURIComponent(entryId)}/revoke`),
  /** Exchanges the token of the printed URL for a cookie that scripts cannot read, and a key that is kept here. */
  openSession: async (token: string) => {
    const opened = await post<OpenedSession>("api/session", { token });
    keepSessionKey(opened.key);
  },
  /** Ends this browser's session. */
  logOut: async () => {
    await post("api/logout");
    keepSessionKey(null);
  },
};

/** The ONNX model at `path` with its version, which the server names where `latest` was asked for. Raises ApiError. */
export async function fetchModel(path: string): Promise<{ version: number; onnx: Uint8Array }> {
  const response = await send(path, {});
  const version = versionIn(response.url);
  return { version, onnx: new Uint8Array(await response.arrayBuffer()) };
}

/** The build of that hash, of the game at `reference`; `reference` itself where the server does not have that build, or it lives in a page. */
export async function buildOf(reference: GameReference, sha256: string | null): Promise<GameReference> {
  if (sha256 === null || sha256 === reference.sha256 || reference.has_page) return reference;
  const build = { ...reference, sha256, url: `games/${sha256}.js` };
  return (await fetch(serverUrl(build.url))).ok ? build : reference;
}

/** The model that is kept of a bundled game which has a card. */
export async function fetchKeptPolicy(game: string): Promise<Uint8Array> {
  const response = await send(`api/games/${encodeURIComponent(game)}/policy.onnx`, {});
  return new Uint8Array(await response.arrayBuffer());
}

/** The version in a model's URL. Raises RangeError. */
export function versionIn(url: string): number {
  const found = /\/policy\/(\d+)\.onnx(?:\?|$)/.exec(url)?.[1];
  if (found === undefined) throw new RangeError(`expected the URL of a version's model, got ${url}`);
  return Number(found);
}

async function get<T>(path: string): Promise<T> {
  const response = await send(path, {});
  return (await response.json()) as T;
}

function post<T>(path: string, body: unknown = {}): Promise<T> {
  return change<T>("POST", path, body);
}

async function change<T>(method: "POST" | "PATCH" | "DELETE", path: string, body: unknown = {}): Promise<T> {
  const key = sessionKey();
  const response = await send(path, {
    method,
    headers: { "content-type": "application/json", ...(key === null ? {} : { [KEY_HEADER]: key }) },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(serverUrl(path), { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    onlineManager.setOnline(false);
    throw new ApiError(0, "The server does not answer.", "Is it still running? Look at its terminal.");
  }
  if (response.ok) {
    onlineManager.setOnline(true);
    return response;
  }
  const problem = await problemOf(response);
  onlineManager.setOnline(!isNoAnswer(problem));
  throw problem;
}

/** How a proxy answers whose server is gone. */
const NO_SERVER = new Set([502, 503, 504]);

/** Whether the server did not answer. The strip at the top of the page shows it. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || NO_SERVER.has(error.status));
}

async function problemOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  try {
    const problem = JSON.parse(text) as Partial<Problem>;
    if (typeof problem.error === "string") {
      return new ApiError(response.status, problem.error, problem.fix ?? null, problem);
    }
  } catch {
    // Not ours: a proxy's page, for example.
  }
  return new ApiError(response.status, `The server answered ${response.status}.`, null);
}

/** What to show of anything thrown: one sentence and, where known, what mends it. */
export function describeError(error: unknown): { text: string; fix: string | null } {
  if (error instanceof ApiError) return { text: error.message, fix: error.fix };
  return { text: error instanceof Error ? error.message : String(error), fix: null };
}
