import { afterEach, expect, test } from "vitest";
import { EpisodeAlarms } from "../../../web/playtest/src/alarms.ts";
import { GameCopies } from "../../../web/playtest/src/game-copies.ts";
import { InfoWatch } from "../../../web/playtest/src/info-watch.ts";
import { type EpisodeTable, type Played, playEpisode } from "../../../web/playtest/src/play-episode.ts";
import { PlayerActions } from "../../../web/playtest/src/player-actions.ts";
import { HoldingPlayer, RandomPlayer } from "../../../web/playtest/src/scripted-players.ts";
import { ThreadErrors } from "../../../web/playtest/src/thread-errors.ts";
import type { PageGameOptions } from "../../../web/sdk/src/page/index.ts";
import { EpisodeTape } from "../../../web/worker/src/episode/episode-tape.ts";
import { Yielder } from "../../../web/worker/src/rollout/yielding.ts";
import { hop, numFrames } from "../worker/page/hop-page.ts";

const TERMS = {
  seed: { low: 7, high: 0 },
  parameters: {},
  max_steps: null,
  record: true,
  game: { name: "hop", sha256: "a".repeat(64), url: "x", has_page: true },
};
const made: { copies: GameCopies; yielder: Yielder }[] = [];

afterEach(() => {
  for (const { copies, yielder } of made.splice(0)) {
    copies.close();
    yielder.close();
  }
});

function tableOf(
  extra: string,
  { freshEvery = 0, ...options }: Partial<PageGameOptions> & { freshEvery?: number } = {},
) {
  const game = hop(options, extra);
  const actions = new PlayerActions(game);
  const yielder = new Yielder();
  const copies = new GameCopies(game, freshEvery, actions.masks, { base: location.href });
  made.push({ copies, yielder });
  const table: EpisodeTable = {
    copies,
    actions,
    alarms: new EpisodeAlarms(),
    tape: new EpisodeTape(game),
    errors: new ThreadErrors(),
    ofLoading: [],
    watch: new InfoWatch(game),
    claim: null,
    yieldTurn: () => yielder.yield(),
    now: () => performance.now(),
    started: () => undefined,
    goesOn: () => true,
  };
  return table;
}

async function played(table: EpisodeTable, index: number, action: number | null): Promise<Played> {
  const player = action === null ? new RandomPlayer(TERMS.seed) : new HoldingPlayer([action]);
  const episode = await playEpisode(player, index, TERMS, table);
  if (episode === null) throw new Error("given up");
  return { ...episode, play_seconds: 0 };
}

const textsOf = ({ alarms }: Played) => alarms.map(({ text }) => text);
const JUMPED = "if (held.Space && ticks === 9)";

test("a kept page and a fresh one play an episode alike, whatever was played before", async () => {
  const [kept, fresh] = [tableOf(""), tableOf("", { freshEvery: 1 })];
  const first = await played(kept, 3, null);
  await played(kept, 4, null);
  expect(await played(kept, 3, null)).toEqual(first);
  expect(await played(fresh, 3, null)).toEqual(first);
  expect(first).toMatchObject({ end_reason: "terminated", alarms: [] });
  expect(first.recorded?.num_steps).toBe(first.num_steps);
});

test("a page plays as many episodes as it may: the next one begins in a new page", async () => {
  // Each episode of a page is two steps shorter than the one before.
  const table = tableOf(
    `window.episodes = (window.episodes ?? 0) + (ticks === 1 ? 1 : 0); if (ticks >= 22 - 4 * episodes) state = "over"`,
    { freshEvery: 2 },
  );
  const steps: number[] = [];
  for (const index of [0, 1, 2, 3, 5, 4]) steps.push((await played(table, index, 0)).num_steps);
  expect(steps).toEqual([7, 5, 7, 5, 3, 7]);
});

test("a page is kept until something goes wrong in it", async () => {
  const table = tableOf(
    `window.episodes = (window.episodes ?? 0) + (ticks === 1 ? 1 : 0); ${JUMPED} console.error("odd", episodes)`,
  );
  const frames = new Set<Element>();
  const look = () => {
    for (const frame of document.querySelectorAll("iframe[data-attract-clock]")) frames.add(frame);
  };
  for (let index = 0; index < 4; index++) {
    expect(textsOf(await played(table, index, 0))).toEqual([]);
    look();
  }
  // One that plays and one that is ready.
  expect(frames.size).toBeLessThanOrEqual(2);
  const before = await played(table, 9, 1);
  expect(textsOf(before)).toHaveLength(1);
  const after = await played(table, 9, 1);
  // It is the first of its page again.
  expect(textsOf(after)).toEqual(["odd 2"]);
});

test.each([
  ["it throws", `${JUMPED} setTimeout(() => missing.foo = 1)`, /^ReferenceError: missing is not defined/],
  ["it rejects", `${JUMPED} Promise.reject(new RangeError("late"))`, /^RangeError: late/],
  ["it writes an error", `${JUMPED} console.error("odd", new TypeError("x"))`, /^odd TypeError: x/],
  [
    "a file is missing",
    `${JUMPED} fetch(parent.location.origin + "/nothing/level2.json")`,
    /^the page asks for \/nothing\/level2.json, which is not there$/,
  ],
])("%s: an alarm in the episode and step in which it happens", async (_, extra, text) => {
  const table = tableOf(extra);
  expect(textsOf(await played(table, 0, 0))).toEqual([]);
  for (const index of [0, 1]) {
    const episode = await played(table, index, 1);
    expect(episode).toMatchObject({ end_reason: "terminated", alarms: [{ oracle: "error", method: null }] });
    expect(episode.alarms[0].text).toMatch(text);
    expect(episode.alarms[0].tick).toBeGreaterThanOrEqual(8);
    expect(episode.recorded).not.toBe(null);
  }
  expect(textsOf(await played(table, 0, 0))).toEqual([]);
});

test("a server that a page talks to is no file that it lacks: no alarm", async () => {
  const talks = `new WebSocket("wss://scores.example/live"); new EventSource("/nothing/events");
    fetch(parent.location.origin + "/nothing/score", { method: "POST" }).catch(() => undefined);`;
  const table = tableOf(`${JUMPED} { ${talks} }`);
  expect(textsOf(await played(table, 0, 1))).toEqual([]);
});

test("a page whose loop ends by an error fails, with one alarm", async () => {
  const table = tableOf(`${JUMPED} missing.foo = 1`);
  const episode = await played(table, 0, 1);
  expect(episode.end_reason).toBe("failed");
  expect(textsOf(episode)).toEqual([
    expect.stringMatching(/^update\(\) threw: ReferenceError: missing is not/),
  ]);
  expect((await played(table, 0, 0)).end_reason).toBe("terminated");
});

test("what a page says while it loads is told of in each of its episodes, and keeps the page", async () => {
  const table = tableOf("", { loaded: (w) => w.eval(`console.error("no sound")`) });
  for (const index of [0, 1, 2]) {
    const episode = await played(table, index, null);
    expect(episode.alarms).toMatchObject([{ text: "no sound", step: 0, tick: 0 }]);
  }
  expect(numFrames()).toBeLessThanOrEqual(2);
});

test("a page that cannot be restarted is loaded for each episode, and for no other", async () => {
  const table = tableOf("", {
    restart: undefined,
    reset: "reload",
    menu: (_w, page) => page.hold(page.ticks % 4 < 2 ? ["Enter"] : []),
    playing: (w) => w.look().state === "playing",
  });
  const first = await played(table, 3, null);
  expect(first.end_reason).toBe("terminated");
  expect(numFrames()).toBe(0);
  expect(await played(table, 3, null)).toEqual(first);
});

test("where a used page does not begin again, the episode before is recorded", async () => {
  const table = tableOf("", {
    // Not the play by which a page warms up.
    seed(window, seed) {
      if (seed !== 0) window.begun = (window.begun ?? 0) + 1;
    },
    playing: (window) => !(window.begun > 1),
  });
  const first = await played(table, 0, null);
  expect(first.alarms).toEqual([]);
  const second = await played(table, 1, null);
  // It is played in a new page.
  expect(second).toMatchObject({ end_reason: "terminated" });
  expect(second.num_steps).toBeGreaterThan(0);
  expect(second.alarms).toMatchObject([
    { oracle: "retry-broken", text: expect.stringContaining("did not begin within 1200 frames") },
  ]);
  expect(second.recorded).toEqual(first.recorded);
});
