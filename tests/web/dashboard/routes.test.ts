/** The dashboard's place in the URL. */

import { describe, expect, it } from "vitest";
import {
  formatRoute,
  isViewerToken,
  pageOfLink,
  parseRoute,
  type Route,
  tokenInFragment,
} from "../../../web/dashboard/src/routes.ts";
import { PLAIN_VIEW } from "../../support/plain-view.ts";

const ROUTES: [string, Route][] = [
  ["#/", { view: "start", game: null, from: null }],
  ["#/?game=my-game%2Fgame.ts", { view: "start", game: "my-game/game.ts", from: null }],
  ["#/games/snake", { view: "game", name: "snake" }],
  ["#/games/my%20game/game.ts", { view: "game", name: "my game/game.ts" }],
  ["#/?game=snake&from=snake-1", { view: "start", game: "snake", from: "snake-1" }],
  [
    "#/?game=snake&from=snake-1&set=ppo.gamma%3D0.9&set=collection.seats%3Da%3Db",
    {
      view: "start",
      game: "snake",
      from: "snake-1",
      set: { "ppo.gamma": "0.9", "collection.seats": "a=b" },
    },
  ],
  ["#/runs", { view: "runs", search: "", charts: PLAIN_VIEW }],
  [
    "#/runs?q=game%3Asnake&sort=-return&metrics=train%2Floss&ticked=a&x=time",
    {
      view: "runs",
      search: "q=game%3Asnake&sort=-return&metrics=train%2Floss&ticked=a",
      charts: { ...PLAIN_VIEW, axis: "time" },
    },
  ],
  ["#/access", { view: "access" }],
  ["#/tuning", { view: "tuning" }],
  ["#/tuning/my%20game", { view: "study", name: "my game" }],
  ["#/episode-file", { view: "file" }],
  [
    "#/findings/attract-ci/01-error.episode.json?game=src%2Fgame.ts",
    { view: "finding", game: "src/game.ts", folder: "attract-ci", file: "01-error.episode.json" },
  ],
  [
    "#/runs/a%20b/episodes/e%2F1?at=12.5",
    { view: "episode", runId: "a b", episodeId: "e/1", at: 12.5, beside: null },
  ],
  ["#/runs/r/episodes/e?at=-2&with=f", { view: "episode", runId: "r", episodeId: "e", at: -2, beside: "f" }],
  ["#/runs/r/episodes/e", { view: "episode", runId: "r", episodeId: "e", at: null, beside: null }],
  ["#/runs/snake-1", { view: "run", runId: "snake-1", stage: "watch", charts: PLAIN_VIEW, version: null }],
  [
    "#/runs/snake-1?version=12",
    { view: "run", runId: "snake-1", stage: "watch", charts: PLAIN_VIEW, version: 12 },
  ],
  [
    "#/runs/a%20b%3F?stage=play&version=0&x=time",
    { view: "run", runId: "a b?", stage: "play", charts: { ...PLAIN_VIEW, axis: "time" }, version: 0 },
  ],
  [
    "#/runs/r/charts?x=time",
    {
      view: "run",
      runId: "r",
      tab: "charts",
      stage: "watch",
      charts: { ...PLAIN_VIEW, axis: "time" },
      version: null,
    },
  ],
  [
    "#/runs/r/play?version=3",
    { view: "run", runId: "r", tab: "play", stage: "watch", charts: PLAIN_VIEW, version: 3 },
  ],
  ...(["workers", "settings", "log"] as const).map((tab): [string, Route] => [
    `#/runs/r/${tab}`,
    { view: "run", runId: "r", tab, stage: "watch", charts: PLAIN_VIEW, version: null },
  ]),
];

describe("routes", () => {
  it.each(ROUTES)("%s is read and written alike", (fragment, route) => {
    expect(parseRoute(fragment)).toEqual(route);
    expect(formatRoute(route)).toBe(fragment);
  });

  it.each([
    "",
    "#",
    "#nonsense",
    "#/runs/a/b",
    "#/runs/a/episodes",
    "#/runs/a/charts/b",
    "#/tuning/a/b",
    "#token=x",
  ])("%s is the start page", (fragment) => {
    expect(parseRoute(fragment)).toEqual({ view: "start", game: null, from: null });
  });

  it("a comparison is its runs, ticked, with its metric first", () => {
    const route = parseRoute("#/compare?runs=a,b,a&metric=train%2Floss&x=time&pin=time%2Ffps");
    expect(formatRoute(route)).toBe(
      "#/runs?q=is%3Aall+id%3Da%2Cb%2Ca&ticked=a%2Cb&x=time&pin=train%2Floss%2Ctime%2Ffps",
    );
    expect(parseRoute("#/compare")).toEqual({ view: "runs", search: "", charts: PLAIN_VIEW });
  });

  it.each(["", "x", "Infinity"])("at=%s of an episode is none", (at) => {
    expect(parseRoute(`#/runs/r/episodes/e?at=${at}`)).toMatchObject({ at: null });
  });

  it("the first part of a run's page is the page itself", () => {
    const route = parseRoute("#/runs/r/charts?version=3");
    expect(formatRoute({ ...(route as Extract<Route, { view: "run" }>), tab: "overview" })).toBe(
      "#/runs/r?version=3",
    );
  });

  it("keeps a run's name that is no valid escape", () => {
    expect(parseRoute("#/runs/%zz")).toMatchObject({ runId: "%zz" });
  });

  it("unknown stages and axes are the usual ones", () => {
    expect(parseRoute("#/runs/a?stage=fly&x=cheese")).toMatchObject({ stage: "watch", charts: PLAIN_VIEW });
  });
});

describe("a version in the address", () => {
  it.each(["-1", "1.5", "newest", "", "9".repeat(16)])("%j is the newest", (text) => {
    expect(parseRoute(`#/runs/a?version=${text}`)).toMatchObject({ version: null });
  });
});

describe("tokenInFragment", () => {
  it("finds the printed URL's token and nothing else", () => {
    expect(tokenInFragment("#token=abc_-1")).toBe("abc_-1");
    expect(tokenInFragment("#token=")).toBeNull();
    expect(tokenInFragment("#/runs/x?token=abc")).toBeNull();
    expect(tokenInFragment("")).toBeNull();
  });
});

describe("a link with a token", () => {
  it("opens the start page, or a run's", () => {
    expect(pageOfLink("#token=abc")).toBe("#/");
    expect(pageOfLink("#token=abc&run=a%20b")).toBe("#/runs/a%20b");
    expect(pageOfLink("#/runs/x?run=y")).toBe("#/");
  });

  it("is for viewers where its token says so", () => {
    expect(isViewerToken("invite.i-1.viewer.1795000000.AbC_-")).toBe(true);
    expect(isViewerToken("invite.i-1.invited.1795000000.viewer.")).toBe(false);
    expect(isViewerToken("AbC.viewer.")).toBe(false);
  });
});
