/** After a cut of the event stream the page knows what a freshly loaded one knows, however much was missed. */

import type { MetricsRow, MetricsView } from "@attract/schema";
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

function rowOf(update: number): MetricsRow {
  return {
    update,
    policy_version: update,
    agent_steps: 10 * update,
    seconds: update / 10,
    values: { [NAME]: update },
  } as MetricsRow;
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

let updates: number;
let refuses: boolean;
let keepsEpisodes: boolean;
let state: RunState;
let leave: () => void;

function follow() {
  state = EMPTY_RUN;
  const take = (events: RunEvent[]) => {
    state = events.reduce(reduceRun, state);
  };
  return followRun("r", take, () => undefined);
}

/** Everything that waits is delivered; no time passes but what the page gathers events for. */
const settle = () => vi.advanceTimersByTimeAsync(300);
const stepsShown = () => state.series[NAME]?.steps;
const newest = () => FakeSource.made.at(-1) as FakeSource;

beforeEach(async () => {
  vi.useFakeTimers();
  FakeSource.made = [];
  updates = 104;
  refuses = false;
  keepsEpisodes = true;
  vi.stubGlobal("document", { baseURI: "http://127.0.0.1/", hidden: false });
  vi.stubGlobal("EventSource", FakeSource);
  vi.stubGlobal("fetch", async (url: URL) => {
    if (url.pathname.endsWith("/metrics")) {
      if (refuses) throw new TypeError("cut");
      return Response.json(metricsOf(updates));
    }
    if (url.pathname.endsWith("/episodes"))
      return keepsEpisodes ? Response.json([{ id: "old" }]) : new Response("", { status: 500 });
    if (url.pathname.endsWith("/log")) return Response.json({ lines: [{ text: `at ${updates}` }] });
    return Response.json({ run_id: "r", state: "running", reports: [], agent_steps: 0, updates: 0 });
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
  for (let update = updates - REPLAYED_UPDATES + 1; update <= updates; update++)
    newest().emit("metrics", rowOf(update));
  await settle();
}

describe("followRun", () => {
  it("has the snapshot, and the rows that come after it", async () => {
    newest().emit("metrics", rowOf(105));
    await settle();
    expect(stepsShown()?.slice(-3)).toEqual([1015, 1035, 1050]);
  });

  it("has the recorded episodes, and those that come after them", async () => {
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
    const healed = { series: state.series, log: state.log };
    leave();
    leave = follow();
    await settle();
    newest().emit("open", null);
    await settle();
    expect(healed).toEqual({ series: state.series, log: state.log });
    expect(healed.series[NAME].steps).toHaveLength(752);
    expect(healed.log).toEqual([{ text: "at 1504" }]);
  });

  it("goes on with the rows that come after the cut, each once", async () => {
    await cut(1400);
    newest().emit("metrics", rowOf(1505));
    newest().emit("metrics", rowOf(1505));
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
});
