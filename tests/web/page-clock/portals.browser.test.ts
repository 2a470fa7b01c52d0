/** Portals' SDKs: given in their place, they let a game play and note what it says. */

import { expect, test } from "vitest";
import { DEFAULT_OPTIONS, VirtualClock } from "../../../web/page-clock/src/virtual-clock.ts";
import { type PortalSignals, portal } from "../../../web/sdk/src/page/index.ts";
import { blankPage } from "../../support/blank-page.ts";

// biome-ignore lint/suspicious/noExplicitAny: a page's globals
type Page = any;
/** A page that asks for the SDK at `url`, one tick after. */
function opened(url: string, before = ""): { page: Page; clock: VirtualClock; signals: PortalSignals } {
  const page = blankPage();
  const clock = new VirtualClock(page, DEFAULT_OPTIONS);
  page.eval(`said = []; ${before}; const script = document.createElement("script");
    script.onload = () => said.push("load"); script.onerror = () => said.push("error");
    script.src = ${JSON.stringify(url)};`);
  clock.tick();
  return { page, clock, signals: portal(page) };
}

test("Poki hears of play, breaks end at once, and what nobody knows is done at once", async () => {
  const { page, clock, signals } = opened("//game-cdn.poki.com/scripts/v2/poki-sdk.js");
  expect(page.said).toEqual(["load"]);
  await page.eval(
    `(async () => { await PokiSDK.init(); PokiSDK.gameplayStart(); await PokiSDK.someNewThing(1); })()`,
  );
  expect(signals).toMatchObject({ name: "poki", isPlaying: true, starts: 1 });
  expect(
    await page.eval(`(async () => { PokiSDK.gameplayStop(); PokiSDK.happyTime(1); await PokiSDK.commercialBreak();
    return PokiSDK.rewardedBreak(); })()`),
  ).toBe(false);
  expect(signals).toMatchObject({ isPlaying: false, stops: 1, happyTimes: 1 });
  expect([...clock.unheld]).toEqual([]);
});

test("CrazyGames: play, advertisements that tell of their end by callback, a score", async () => {
  const { page, clock, signals } = opened("https://sdk.crazygames.com/crazygames-sdk-v3.js");
  await page.eval(`(async () => { const { SDK } = CrazyGames; await SDK.init(); SDK.game.gameplayStart();
    SDK.ad.requestAd("midgame", { adFinished: () => said.push("finished") });
    SDK.ad.requestAd("rewarded", { adFinished: () => said.push("paid"), adError: () => said.push("refused") });
    SDK.data.setItem("a", "1"); said.push(SDK.data.getItem("a"), await SDK.user.getUser());
    await SDK.user.submitScore(12); })()`);
  clock.tick();
  expect(page.said).toEqual(["load", "1", null, "finished", "refused"]);
  expect(signals).toMatchObject({ isPlaying: true, score: 12 });
});

test("YouTube Playables: ready, data, a score, which a new game has not sent", async () => {
  const { page, clock, signals } = opened("https://www.youtube.com/game_api/v1");
  await page.eval(`(async () => { ytgame.game.firstFrameReady(); said.push(await ytgame.game.loadData());
    ytgame.game.gameReady(); ytgame.system.onPause(() => 0); await ytgame.engagement.sendScore({ value: 70 }); })()`);
  expect(page.said).toEqual(["load", ""]);
  expect(signals).toMatchObject({ isPlaying: true, score: 70 });
  clock.clearStorage();
  expect(signals.score).toBe(null);
});

test("GameDistribution tells the game when to go on", async () => {
  const options = "GD_OPTIONS = { onEvent: ({ name }) => said.push(name) }";
  const { page, clock } = opened("https://html5.api.gamedistribution.com/main.min.js", options);
  page.eval("gdsdk.showAd();");
  clock.tick();
  expect(page.said).toEqual(["SDK_READY", "load", "SDK_GAME_START"]);
});

test("other scripts of others stay refused", () => {
  const { page, clock } = opened("https://cdn.example.com/poki.js");
  expect(page.said).toEqual(["error"]);
  expect([...clock.unheld]).toEqual(["requests data from cdn.example.com, which is blocked"]);
});

test("in a page of one's own the portal's own SDK is heard, and does what it did", () => {
  const page = blankPage();
  page.eval("said = []; PokiSDK = { gameplayStart() { said.push(this === PokiSDK); }, gameplayStop() {} };");
  const signals = portal(page);
  page.eval("PokiSDK.gameplayStart()");
  expect(page.said).toEqual([true]);
  expect(signals).toMatchObject({ name: "poki", isPlaying: true });
  expect(portal(page)).toBe(signals);
});
