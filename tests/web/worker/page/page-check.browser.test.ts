import { expect, test } from "vitest";
import type { PageWindow } from "../../../../web/sdk/src/page-adapter.ts";
import { checkPageGame } from "../../../../web/worker/src/page/page-check.ts";
import { awaitingHop, hop, numFrames } from "./hop-page.ts";

/**
 * Milliseconds of a clock that is read once a step, so that a check goes as far on any machine: 600 steps of random
 * play, and every repetition whole. An episode has 24 ticks, and takes a page of its own in most of them.
 */
const BUDGET = 1_500;

function check(definition = hop(), phases: string[] = [], budgetMilliseconds = BUDGET) {
  let read = 0;
  return checkPageGame(definition, {
    base: location.href,
    now: () => read++,
    budgetMilliseconds,
    onPhase: (phase) => phases.push(phase),
  });
}

const idsOf = async (definition = hop()): Promise<string[]> =>
  (await check(definition)).findings.map(({ id }) => id);

test("a good game is played, in every way twice, and nothing is left of it", async () => {
  const phases: string[] = [];
  const report = await check(hop(), phases, 20_000);
  expect(report.findings).toEqual([]);
  expect([report.isTrainable, report.isUnplayable, report.id]).toEqual([true, false, "Hop-v1"]);
  expect(report.play).toMatchObject({ steps: 5000 });
  expect(report.play!.lengthMean).toBeCloseTo(12, 0);
  expect(report.play!.microsecondsPerTick).toBeGreaterThan(0);
  expect(phases).toEqual([
    "loading its page",
    "random play",
    "a play that is repeated",
    "the same play with promises between frames",
    "the same play in a fresh page",
    "the same play after other episodes",
    "the same play beside another game",
    "the same play while it is drawn",
    "the same actions with another seed",
  ]);
  expect(numFrames()).toBe(0);
});

test("a game that draws its chance from the date is another with each seed; one that draws it from a fixed number is named", async () => {
  const by = (seed: string): Promise<string[]> =>
    idsOf(
      hop(
        {
          restart: undefined,
          menu: (_w, page) => page.hold(page.ticks % 4 < 2 ? ["Enter"] : []),
          playing: (w) => w.look().state === "playing",
          // As mulberry32 is seeded in many games: Math.random is not asked.
          loaded: (w) =>
            w.eval(
              `let dice = ${seed}; Math.random = () => (dice = (dice * 48271) % 2147483647) / 2147483647`,
            ),
        },
        "",
      ),
    );
  expect(await by("Date.now() % 2147483647")).toEqual([]);
  expect(await by("20240101")).toEqual(["no-variety"]);
});

test("a page whose episodes are over in their first step is named: as an error where no choice is worth more", {
  tags: ["long"],
}, async () => {
  const over = () => true;
  const severities = async (score: (w: PageWindow) => number): Promise<string[]> => {
    // Each step takes a page in the play that is repeated.
    const { findings } = await check(hop({ over, score }), [], 600);
    return findings.filter(({ id }) => id === "over-at-once").map(({ severity }) => severity);
  };
  expect(await severities(() => 0)).toEqual(["error"]);
  // Which of them was jumped in.
  expect(await severities((w) => Math.floor(10 * w.look().y))).toEqual(["warning"]);
});

test("random play alone takes so many episodes, and nothing is repeated", async () => {
  const phases: string[] = [];
  const { play, findings } = await checkPageGame(hop(), {
    base: location.href,
    now: () => performance.now(),
    onPhase: (phase) => phases.push(phase),
    only: { episodes: 3, parameters: {} },
  });
  expect(play).toMatchObject({ episodes: 3, steps: Math.round(3 * play!.lengthMean) });
  expect(play!.returnStd).toBeGreaterThanOrEqual(0);
  expect(findings).toEqual([]);
  expect(phases).toEqual(["loading its page", "random play"]);
  expect(numFrames()).toBe(0);
});

test("random play in fresh pages sees nothing of the episodes before, and tells each return", async () => {
  const definition = hop(
    // A later tick of the page is worth more.
    { score: (w) => w.eval("window.count ??= 0") ** 2 },
    "window.count = (window.count ?? 0) + 1;",
  );
  const played = async (isFresh: boolean) => {
    const only = { episodes: 3, parameters: {}, isFresh };
    return (await checkPageGame(definition, { base: location.href, now: () => performance.now(), only }))
      .play!;
  };
  const [fresh, restarted] = [await played(true), await played(false)];
  expect(new Set(fresh.returns).size).toBe(1);
  expect(fresh.returns).toHaveLength(3);
  expect(restarted.returns).not.toEqual(fresh.returns);
});

test("what outlives the game's own restart is named with the step and the number", {
  tags: ["long"],
}, async () => {
  const definition = hop(
    { observe: (w) => [w.eval("window.count ??= 0"), w.look().y] },
    "window.count = (window.count ?? 0) + 1;",
  );
  const { findings, isTrainable } = await check(definition);
  expect(findings.map(({ id }) => id)).toEqual(["state-survives-start"]);
  expect(findings[0].text).toMatch(
    /^after the adapter's restart\(window\) an episode plays differently than in a fresh page: at the start of episode 0 observation\[0\] was 1, then /,
  );
  expect(isTrainable).toBe(true);
  // With a page for each episode nothing outlives it.
  expect(await idsOf({ ...definition, page: { ...definition.page!, reset: "reload" } })).toEqual([]);
});

test("where each episode has a page of its own, how long one takes is measured, and one that never is ready is told", async () => {
  const page = { ...hop().page!, reset: "reload" } as const;
  const slow = (w: PageWindow): boolean => {
    const until = performance.now() + 30;
    while (performance.now() < until);
    return w.look?.().state === "menu";
  };
  const { play } = await checkPageGame(
    { ...hop(), page: { ...page, ready: slow, over: () => true } },
    { base: location.href, now: () => performance.now(), budgetMilliseconds: 3_000 },
  );
  expect(play?.createMilliseconds).toBeGreaterThan(25);
  const { findings, isUnplayable } = await check({ ...hop(), page: { ...page, ready: () => false } });
  expect([findings.length, isUnplayable]).toEqual([1, true]);
  expect(findings[0].text).toContain("ready() was still false after 2000 frames");
});

test("a game that is not the same in a fresh page is named, with the likely cause", async () => {
  window.attractTestCount = 0;
  const other = hop({ observe: (w) => [w.parent.attractTestCount++, w.look().y] });
  const { findings } = await check(other);
  expect(findings.map(({ id }) => id)).toEqual(["not-reproducible"]);
  expect(findings[0].text).toContain("in a fresh page: at the start of episode 0 observation[0] was");
  const worker = hop({
    loaded: (w) => w.eval("new Worker(URL.createObjectURL(new Blob(['']))).terminate()"),
  });
  const [finding] = (await check(worker)).findings;
  expect([finding.id, finding.text]).toEqual([
    "clock",
    "this game runs code in a web worker, which reads real time: its results are not reproducible",
  ]);
});

test("files that a page asks for in vain are one finding, the first three by name", {
  tags: ["long"],
}, async () => {
  const asking = hop({
    loaded: (w) =>
      w.eval(`for (const name of ["a", "b", "c", "d", "e"])
        fetch(location.origin + "/no/" + name + ".js").catch(() => 0)`),
  });
  const { findings } = await check(asking);
  expect(findings.map(({ id, text }) => [id, text])).toEqual([
    ["clock", "this game asks for /no/a.js, /no/b.js, /no/c.js and 2 more, which are not there"],
  ]);
});

test("a game that plays on between its frames is found to, with the line that it needs", async () => {
  const { findings } = await check(awaitingHop());
  expect(findings.map(({ id }) => id)).toEqual(["needs-turns"]);
  expect(findings[0].fix).toContain("`turns: true`");
  expect(await idsOf(awaitingHop({ turns: true }))).toEqual([]);
});

test("a hidden page that asks where its elements are is found to; one that does not is like any other", {
  tags: ["long"],
}, async () => {
  expect(await idsOf(hop({ hidden: true }))).toEqual([]);
  const reads = "y += document.querySelector('canvas').getBoundingClientRect().width / 100;";
  const { findings, isTrainable } = await check(hop({ hidden: true }, reads));
  expect([findings.map(({ id }) => id), isTrainable]).toEqual([["reads-layout"], false]);
  expect(findings[0].text).toContain("differently where it is laid out");
  expect(await idsOf(hop({}, reads))).toEqual([]);
});

test("a play that is cut short for want of time needs no turns for that", async () => {
  let milliseconds = 0;
  const observe = (w: PageWindow): number[] => {
    milliseconds++;
    return [w.look().y, w.look().ticks];
  };
  const definition = hop({ observe, over: () => false, maxSeconds: 60 });
  const now = () => milliseconds;
  // 400 ms of random play, 150 of the play that is repeated, 90 of the same with turns.
  const { findings } = await checkPageGame(definition, {
    base: location.href,
    now,
    budgetMilliseconds: 1_000,
  });
  expect(findings.map(({ id }) => id)).toEqual([]);
});

test("errors that a page survives, and drawing that it reads, are told", { tags: ["long"] }, async () => {
  expect(await idsOf(hop({}, "if (ticks === 3) setTimeout(() => { throw new Error('lost') }, 0);"))).toEqual([
    "page-error",
  ]);
  expect(await idsOf(hop({}, "context.getImageData(0, 0, 1, 1);"))).toEqual(["reads-drawing"]);
});

test("a page that cannot be played is unplayable, and one that breaks in play says where", async () => {
  const never = await check(hop({ ready: () => false }));
  expect([never.isUnplayable, never.findings.map(({ id }) => id)]).toEqual([true, ["load"]]);
  const wrong = await check(hop({ observe: () => [1, 2, 3] }));
  expect([wrong.isUnplayable, wrong.findings.map(({ id }) => id)]).toEqual([true, ["contract"]]);
  expect(wrong.findings[0].text).toContain("observation");
});

declare global {
  interface Window {
    attractTestCount: number;
  }
}
