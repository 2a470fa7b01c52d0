/** After a cut of the event stream the page knows what a freshly loaded one knows, however much was missed. */

import type { MetricsView } from "@attract/schema";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { followRun } from "../../../../web/dashboard/src/api/run-feed.ts";
import {
  EMPTY_RUN,
  type RunEvent,
  type RunState,
  reduceRun,
} from "../../../../web/dashboard/src/state/run-state.ts";

const NAME = "rollout/ep_rew_mean";
/** What the server replays at most: two events an update. */
const REPLAYED_UPDATES = 500;

class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static made: FakeSource[] = [];
  readyState = 1;
  constructor() {
    super();
    FakeSource.made.push(this);
  }
  close() {
    this.readyState = FakeSource.CLOSED;
  }
  emit(kind: string, body: unknown) {
    this.dispatchEvent(Object.assign(new Event(kind), { data: JSON.stringify(body) }));
  }
}

/** Update, agent steps, seconds, the value. */
const rowOf = (update: number) => [update, 10 * update, update / 10, update];

/** As the server sends it: the names go before the rows of each connection. */
function emitRows(...updates: number[]) {
  newest().emit("metric_names", { names: [NAME] });
  newest().emit("metrics", { rows: updates.map(rowOf) });
}

/** Points from a server after an even number of updates: each stands for two updates, at their middle. */
function metricsOf(updates: number): MetricsView {
  const all = Array.from({ length: updates / 2 }, (_, index) => 2 * index + 1.5);
  return {
    last_steps: 10 * updates,
    run_id: "r",
    names: [NAME],
    agent_steps: all.map((update) => 10 * update),
    seconds: all.map((update) => update / 10),
    updates: all,
    episodes: all.map(() => 0),
    clock: [{ seconds: 0, unix_seconds: 1000 }],
    series: [{ name: NAME, at: null, values: all, low: all, high: all }],
  };
}

/** Every update from these agent steps on, as a point of its own. */
function singleFrom(steps: number): MetricsView {
  const all = Array.from({ length: updates }, (_, index) => index + 1).filter((one) => 10 * one >= steps);
  const axis = { agent_steps: all.map((one) => 10 * one), seconds: all, updates: all, episodes: all };
  const last_steps = all.length === 0 ? null : 10 * updates;
  const loss = {
    name: "train/loss",
    at: all.length > 1 ? [1] : [],
    values: all.slice(1, 2),
    low: null,
    high: null,
  };
  const series = [{ name: NAME, at: null, values: all, low: null, high: null }, loss];
  return { ...metricsOf(0), ...axis, last_steps, series };
}

let updates: number;
let refuses: boolean;
let keepsEpisodes: boolean;
let state: RunState;
let leave: () => void;
let page: EventTarget & { hidden: boolean };
let asked: string[];
let runState: string;
let isElsewhere: boolean;

function follow() {
  state = EMPTY_RUN;
  const take = (events: RunEvent[]) => {
    state = events.reduce(reduceRun, state);
  };
  return followRun("r", take, () => undefined);
}

/** Everything that waits is delivered; no time passes but what the page gathers events for. */
const settle = () => vi.advanceTimersByTimeAsync(2100);
const stepsShown = () => state.series[NAME]?.steps;
const newest = () => FakeSource.made.at(-1) as FakeSource;

beforeEach(async () => {
  vi.useFakeTimers();
  FakeSource.made = [];
  updates = 104;
  runState = "running";
  isElsewhere = false;
  refuses = false;
  keepsEpisodes = true;
  page = Object.assign(new EventTarget(), { baseURI: "http://127.0.0.1/", hidden: false });
  vi.stubGlobal("document", page);
  vi.stubGlobal("EventSource", FakeSource);
  asked = [];
  vi.stubGlobal("fetch", async (url: URL) => {
    asked.push(url.pathname);
    if (url.pathname.endsWith("/metrics")) {
      if (refuses) throw new TypeError("cut");
      const from = url.searchParams.get("from");
      return Response.json(from === null ? metricsOf(updates) : singleFrom(Number(from)));
    }
    if (url.pathname.endsWith("/episodes"))
      return keepsEpisodes ? Response.json([{ id: "old" }]) : new Response("", { status: 500 });
    const counts = { agent_steps: 0, updates: 0, is_elsewhere: isElsewhere };
    return Response.json({ run_id: "r", state: runState, reports: [], ...counts });
  });
  leave = follow();
  await settle();
  newest().emit("open", null);
  await settle();
});

afterEach(() => {
  leave();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The stream breaks, `missed` updates pass, it opens again and the server repeats the newest of them. */
async function cut(missed: number) {
  newest().emit("error", null);
  updates += missed;
  newest().emit("open", null);
  emitRows(...Array.from({ length: REPLAYED_UPDATES }, (_, index) => updates - REPLAYED_UPDATES + 1 + index));
  await settle();
}

function show(isShown: boolean) {
  page.hidden = !isShown;
  page.dispatchEvent(new Event("visibilitychange"));
}

describe("followRun", () => {
  it("has the snapshot, and the rows that come after it", async () => {
    emitRows(105);
    await settle();
    expect(stepsShown()?.slice(-3)).toEqual([1015, 1035, 1050]);
  });

  it("asks for the run, its charts and its episodes alone: the log is asked for where it is shown", () => {
    expect(new Set(asked)).toEqual(new Set(["/api/runs/r", "/api/runs/r/metrics", "/api/runs/r/episodes"]));
  });

  it("has the recorded episodes, and those that come after them", async () => {
    newest().emit("episode", { id: "new" });
    await settle();
    expect(state.episodes.map(({ id }) => id)).toEqual(["new", "old"]);
  });

  it("has an episode that was kept while the list of them was on its way", async () => {
    newest().emit("open", null);
    newest().emit("episode", { id: "new" });
    await settle();
    expect(state.episodes.map(({ id }) => id)).toEqual(["new", "old"]);
  });

  it("has its charts also where the episodes cannot be listed", async () => {
    keepsEpisodes = false;
    leave();
    leave = follow();
    await settle();
    newest().emit("open", null);
    await settle();
    expect(state.episodes).toEqual([]);
    expect(stepsShown()).toHaveLength(52);
  });

  it("shows after a cut of 1,400 updates what a page shows that is loaded then", async () => {
    await cut(1400);
    const healed = state.series;
    leave();
    leave = follow();
    await settle();
    newest().emit("open", null);
    await settle();
    expect(healed).toEqual(state.series);
    expect(healed[NAME].steps).toHaveLength(752);
  });

  it("goes on with the rows that come after the cut, each once", async () => {
    await cut(1400);
    emitRows(1505);
    emitRows(1505);
    await settle();
    expect(stepsShown()?.slice(-2)).toEqual([15_035, 15_050]);
  });

  it("asks again where the snapshot is cut too", async () => {
    refuses = true;
    await cut(1400);
    expect(stepsShown()).toHaveLength(52);
    refuses = false;
    await vi.advanceTimersByTimeAsync(2500);
    expect(stepsShown()).toHaveLength(752);
  });

  it("opens a stream that the browser has given up", async () => {
    newest().close();
    newest().emit("error", null);
    await vi.advanceTimersByTimeAsync(2500);
    expect(FakeSource.made).toHaveLength(2);
    updates = 2000;
    newest().emit("open", null);
    await settle();
    expect(stepsShown()).toHaveLength(1000);
  });

  it("reads rows by the names that went before them, and a shorter row as one without the last values", async () => {
    newest().emit("metric_names", { names: [NAME] });
    newest().emit("metrics", { rows: [rowOf(105)] });
    newest().emit("metric_names", { names: [NAME, "train/loss", "train/lr"] });
    newest().emit("metrics", { rows: [rowOf(106), [107, 1070, 10.7, null, 0.5]] });
    await settle();
    expect(state.series[NAME].steps.slice(-2)).toEqual([1050, 1060]);
    expect(state.series["train/loss"]).toMatchObject({ steps: [1070], seconds: [10.7], values: [0.5] });
    expect(state.series["train/lr"]).toBeUndefined();
  });

  it("draws once for all that the server sends in one go", async () => {
    const drawn: RunEvent[][] = [];
    leave();
    leave = followRun(
      "r",
      (events) => drawn.push(events),
      () => undefined,
    );
    await settle();
    newest().emit("open", null);
    await settle();
    drawn.length = 0;
    newest().emit("policy", { policy_version: 3 });
    emitRows(105, 106);
    await settle();
    expect(drawn).toHaveLength(1);
  });

  it("takes the fleet whole, then as changes", async () => {
    const worker = { worker_index: 0, worker_id: 4, state: "playing", episodes: 1 };
    newest().emit("fleet", {
      steps_per_second: 1,
      hosts: [{ host_id: "h", hidden: false, workers: [worker] }],
    });
    const facts = { episodes: 2 };
    const host = { host_id: "h", facts: {}, workers: [{ worker_index: 0, worker_id: 4, facts }], gone: [] };
    newest().emit("fleet_changes", { totals: { steps_per_second: 9 }, hosts: [host], gone: [] });
    await settle();
    expect(state.fleet?.steps_per_second).toBe(9);
    expect(state.fleet?.hosts[0].workers).toEqual([{ ...worker, episodes: 2 }]);
  });

  it("has no stream while the page is hidden, and asks rarely how the run stands", async () => {
    const [stream] = FakeSource.made;
    show(false);
    asked = [];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(stream.readyState).toBe(FakeSource.CLOSED);
    expect(new Set(asked)).toEqual(new Set(["/api/runs/r"]));
    expect(asked.length).toBeGreaterThanOrEqual(4);
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(FakeSource.made).toHaveLength(1);
  });

  it("shows when it is seen again what a page shows that is loaded then", async () => {
    show(false);
    updates = 2000;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(stepsShown()).toHaveLength(52);
    show(true);
    newest().emit("open", null);
    await settle();
    expect(FakeSource.made).toHaveLength(2);
    expect(stepsShown()).toHaveLength(1000);
    emitRows(2001);
    await settle();
    expect(stepsShown()?.slice(-1)).toEqual([20_010]);
  });

  it("has the whole run, and no stream, where it ended unseen", async () => {
    show(false);
    updates = 2000;
    runState = "finished";
    await vi.advanceTimersByTimeAsync(20_000);
    show(true);
    await settle();
    expect(state.run?.state).toBe("finished");
    expect(FakeSource.made).toHaveLength(1);
    expect(stepsShown()).toHaveLength(1000);
  });

  it("opens no stream in a page that is loaded unseen, until it is seen", async () => {
    leave();
    show(false);
    FakeSource.made = [];
    leave = follow();
    await settle();
    expect(state.run?.state).toBe("running");
    expect(FakeSource.made).toHaveLength(0);
    show(true);
    newest().emit("open", null);
    await settle();
    expect(stepsShown()).toHaveLength(52);
  });

  it("asks for the rows of a run that another process trains, to its last one", async () => {
    leave();
    isElsewhere = true;
    leave = follow();
    await settle();
    newest().emit("open", null);
    await settle();
    updates = 106;
    await vi.advanceTimersByTimeAsync(3000);
    expect(stepsShown()?.slice(-3)).toEqual([1035, 1050, 1060]);
    expect(state.series["train/loss"]?.steps).toEqual([1060]);
    await vi.advanceTimersByTimeAsync(3000);
    updates = 107;
    [runState, isElsewhere] = ["finished", false];
    await vi.advanceTimersByTimeAsync(3000);
    expect(stepsShown()?.slice(-2)).toEqual([1060, 1070]);
    asked = [];
    await vi.advanceTimersByTimeAsync(6000);
    expect(asked).toEqual([]);
  });

  it("hands on what comes at most every two seconds", async () => {
    leave();
    let numFlushes = 0;
    leave = followRun(
      "r",
      (events) => {
        numFlushes += 1;
        state = events.reduce(reduceRun, state);
      },
      () => undefined,
    );
    await vi.advanceTimersByTimeAsync(1000);
    newest().emit("open", null);
    await vi.advanceTimersByTimeAsync(2000);
    numFlushes = 0;
    for (let update = 105; update < 205; update++) {
      emitRows(update);
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(numFlushes).toBeGreaterThanOrEqual(2);
    expect(numFlushes).toBeLessThanOrEqual(3);
    newest().emit("status", { run_id: "r", state: "paused", reports: [] });
    await vi.advanceTimersByTimeAsync(500);
    expect(state.run?.state).toBe("paused");
    await settle();
    expect(stepsShown()?.at(-1)).toBe(2040);
  });
});
