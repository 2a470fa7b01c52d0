import { expect, test } from "vitest";
import { EPOCH_MS } from "../../../../web/page-clock/src/time.ts";
import { createInstance } from "../../../../web/sdk/src/group-instance.ts";
import type { PageGameOptions } from "../../../../web/sdk/src/page/index.ts";
import type { PageHands, PageWindow } from "../../../../web/sdk/src/page-adapter.ts";
import { startsAhead } from "../../../../web/worker/src/game/game-runner.ts";
import type { PageFrames, PageFramesOptions } from "../../../../web/worker/src/page/page-frames.ts";
import { hop, numFrames } from "./hop-page.ts";
import { openFrames } from "./open-frames.ts";

const BY_MENU: Partial<PageGameOptions> = {
  restart: undefined,
  reset: "reload",
  menu: (_w: PageWindow, page: PageHands) => page.hold(page.ticks % 4 < 2 ? ["Enter"] : []),
  playing: (w: PageWindow) => w.look().state === "playing",
};

function framesOf(definition = hop(), options: Partial<PageFramesOptions> = {}): PageFrames {
  return openFrames(definition, { maxCopies: 2, ...options });
}

test("one is kept ready, and who needs none does not wait", async () => {
  const frames = framesOf();
  await frames.preload();
  expect(frames.preload()).toBe(null);
  const instance = createInstance(frames.definition);
  expect(numFrames()).toBe(1);
  instance.start(0);
  // The next is under way.
  await frames.preload();
  expect(numFrames()).toBe(2);
  instance.start(1);
  expect(frames.preload()).toBe(null);
  frames.close();
  expect(numFrames()).toBe(0);
});

test("a page whose game can restart is used again, one that failed is not", async () => {
  const frames = framesOf();
  await frames.preload();
  const first = frames.take();
  await frames.preload();
  frames.giveBack(first, true);
  expect(frames.take()).toBe(first);
  const before = numFrames();
  frames.giveBack(first, false);
  expect(numFrames()).toBe(before - 1);
});

test("a page that is hidden has no layout, unless somebody sees it or asks for it", async () => {
  const laidOut = async (options: Partial<PageFramesOptions>, hidden = true): Promise<boolean> => {
    const frames = framesOf(hop({ hidden }), options);
    await frames.preload();
    const { window } = frames.take();
    expect(window.innerWidth).toBe(60);
    return window.document.querySelector("canvas").getBoundingClientRect().width > 0;
  };
  expect(await laidOut({})).toBe(false);
  expect(await laidOut({}, false)).toBe(true);
  expect(await laidOut({ draws: true })).toBe(true);
  expect(await laidOut({ isSeen: true })).toBe(true);
  expect(await laidOut({ isLaidOut: true })).toBe(true);
});

test("with a fresh page for each episode none is played in twice", async () => {
  const frames = framesOf(hop(), { isFresh: true });
  expect([startsAhead(hop()), startsAhead(frames.definition)]).toEqual([false, true]);
  const instance = createInstance(frames.definition);
  await instance.begin(0);
  const before = numFrames();
  await instance.begin(1);
  expect(numFrames()).toBeLessThanOrEqual(before);
  instance.game.dispose?.();
});

test("the date at which a fresh page begins follows the seed of its episode, and so do a replay's and an evaluation's", async () => {
  /** What the page read of the date while it loaded, and of chance, by episode. */
  const read = async (
    options: Partial<PageFramesOptions>,
    more: Partial<PageGameOptions>,
    episodes: readonly number[],
  ): Promise<[dates: number[], skies: number[]]> => {
    const loaded = (w: PageWindow): void => {
      w.began = w.Date.now();
    };
    let seen: PageWindow;
    const observe = (w: PageWindow): number[] => {
      seen = w;
      return [0, 0];
    };
    const frames = framesOf(hop({ loaded, observe, ...more }), options);
    const instance = createInstance(frames.definition, { seedLow: 7 });
    const dates: number[] = [];
    const skies: number[] = [];
    for (const episode of episodes) {
      await frames.preload();
      await instance.begin(episode);
      dates.push(seen.began);
      skies.push(seen.look().sky);
    }
    frames.close();
    return [dates, skies];
  };
  const [reloaded, skies] = await read({}, BY_MENU, [0, 1, 2]);
  expect([new Set(reloaded).size, new Set(skies).size]).toEqual([3, 3]);
  const [fresh, own] = await read({ isFresh: true }, {}, [2, 0, 1]);
  expect(fresh).toEqual([reloaded[2], reloaded[0], reloaded[1]]);
  // What a game draws while it loads is the same for all episodes that it begins itself.
  expect(new Set(own).size).toBe(1);
  // Its page is there before any of its episodes is known.
  expect(await read({}, {}, [0, 1])).toEqual([
    [EPOCH_MS, EPOCH_MS],
    [own[0], own[0]],
  ]);
});

test("a game that its menu restarts plays on in its page after an end, and in another after a cut", async () => {
  let seen: unknown = null;
  const definition = hop({
    restart: undefined,
    reset: "over",
    menu: (_w, page) => page.hold(page.ticks % 4 < 2 ? ["Enter"] : []),
    playing: (w) => w.look().state === "playing",
    observe: (w) => {
      seen = w;
      return [w.look().y, w.look().ticks];
    },
  });
  expect(startsAhead(definition)).toBe(true);
  /** For episodes that are finished or cut: their page, and whether it had been restarted. */
  const played = async (
    options: Partial<PageFramesOptions>,
    cuts: readonly boolean[],
  ): Promise<unknown[]> => {
    const frames = framesOf(definition, options);
    const instance = createInstance(frames.definition);
    const pages: unknown[] = [];
    const skies = new Set<number>();
    for (const [episode, isCut] of cuts.entries()) {
      await frames.preload();
      await instance.begin(episode);
      pages.push(seen);
      const { ticks, sky } = (seen as { look(): { ticks: number; sky: number } }).look();
      expect(ticks).toBeLessThan(3);
      skies.add(sky);
      for (let step = 0; step < 3 || !(isCut || instance.episodeOver); step++) instance.step(1);
      if (isCut) instance.cut();
    }
    // What a page draws while it loads is its episode's own.
    expect(skies.size).toBe(new Set(pages).size);
    return pages;
  };
  const [first, second, third] = await played({}, [false, true, false]);
  expect([second === first, third === second]).toEqual([true, false]);
  // Evaluations take fresh pages whatever the game can do.
  expect(new Set(await played({ isFresh: true }, [false, false])).size).toBe(2);
});

/** Where pages of 60 x 40 lie that can be seen: left, top, width. */
function seenPlaces(): number[][] {
  const pages = [...document.querySelectorAll<HTMLElement>("iframe[data-attract-clock]")];
  const seen = pages.filter((page) => getComputedStyle(page).opacity === "1");
  return seen.map((page) => page.getBoundingClientRect()).map(({ x, y, width }) => [x, y, width]);
}

test("where somebody looks the one that plays is seen, as large as fits, and no other", async () => {
  const frames = framesOf(hop(), { isFresh: true, isSeen: true });
  frames.fit(300, 100);
  const other = await frames.load(0);
  expect(seenPlaces()).toEqual([]);
  const instance = createInstance(frames.definition);
  await instance.begin(0);
  expect([numFrames(), seenPlaces()]).toEqual([2, [[75, 0, 150]]]);
  frames.fit(120, 100);
  expect(seenPlaces()).toEqual([[0, 10, 120]]);
  await instance.begin(1);
  expect([numFrames(), seenPlaces()]).toEqual([2, [[0, 10, 120]]]);
  frames.giveBack(other, false);
});

test("one that is not played in any more is not seen either", async () => {
  const frames = framesOf(hop(), { isSeen: true });
  frames.fit(60, 40);
  await frames.preload();
  const frame = frames.take();
  expect(seenPlaces()).toEqual([[0, 0, 60]]);
  frames.giveBack(frame, true);
  expect(seenPlaces()).toEqual([]);
  frames.take();
  expect(seenPlaces()).toEqual([[0, 0, 60]]);
});

test("where nobody looks they lie in the corner, whatever room there is", async () => {
  const frames = framesOf();
  await frames.preload();
  frames.take();
  frames.fit(300, 100);
  expect(seenPlaces()[0]).toEqual([0, 0, 60]);
});

test("a page that cannot be played in rejects, with its last error", async () => {
  const frames = framesOf(hop({ ready: () => false }, ""));
  await expect(frames.preload()).rejects.toThrow("ready() was still false after 2000 frames");
  expect(numFrames()).toBe(0);
});

test("nobody takes what is not there", () => {
  expect(() => framesOf().take()).toThrow("await preload() first");
});

test("a page that is loaded for the next episode is not shown before it is played in, however the window changes", async () => {
  const reloading = hop({
    restart: undefined,
    menu: (_w, page) => page.hold(page.ticks % 2 ? ["Enter"] : []),
    playing: (w) => w.look().state === "playing",
  });
  const frames = framesOf(reloading, { isSeen: true });
  const instance = createInstance(frames.definition, { seedLow: 7 });
  const shown = (): string[] =>
    [...document.querySelectorAll<HTMLElement>("iframe[data-attract-clock]")].map(
      ({ style }) => style.opacity,
    );
  frames.fit(300, 200);
  await instance.begin(0);
  await expect.poll(numFrames).toBe(2);
  // It is loaded, and stands ready.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(shown()).toEqual(["1", "0"]);
  frames.fit(400, 300);
  expect(shown()).toEqual(["1", "0"]);
  instance.cut();
  await instance.begin(1);
  expect(shown()[0]).toBe("1");
});

test("who asks for it is reported of each page that is ready, and of the one that begins to be played in", async () => {
  for (const isFresh of [false, true]) {
    const reported: string[] = [];
    const known: unknown[] = [];
    const nameOf = (frame: unknown): number => {
      if (!known.includes(frame)) known.push(frame);
      return known.indexOf(frame);
    };
    const frames = framesOf(hop(), {
      isFresh,
      maxCopies: 1,
      onLoaded: (frame) => reported.push(`loaded ${nameOf(frame)}`),
      onTaken: (frame) => reported.push(`taken ${nameOf(frame)}`),
    });
    await frames.preload();
    const instance = createInstance(frames.definition);
    for (const episode of [0, 1]) {
      await instance.begin(episode);
    }
    await frames.preload();
    const ofOne = isFresh ? ["loaded 1", "taken 1"] : ["loaded 1"];
    expect(reported).toEqual(["loaded 0", "taken 0", ...ofOne]);
  }
});
