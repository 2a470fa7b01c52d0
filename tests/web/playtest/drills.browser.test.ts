import type { PlaytestDrill, PlaytestDrilled } from "@attract/schema";
import type { PageGameOptions } from "attract/page";
import { expect, test } from "vitest";
import { heapMeter } from "../../../web/playtest/src/drills/heap.ts";
import { PageEyes } from "../../../web/playtest/src/drills/page-eyes.ts";
import type { PageAdapter } from "../../../web/sdk/src/page-adapter.ts";
import { PageFrames } from "../../../web/worker/src/page/page-frames.ts";
import { blankPage } from "../../support/blank-page.ts";
import { hop, numFrames } from "../worker/page/hop-page.ts";
import { drilled, played } from "./drills/drilled.ts";

/** Drives to the right as long as a key is held; a flag is raised by another, which nobody observes. */
const PAGE = `<!doctype html><p></p><canvas width="60" height="40"></canvas><script>
  parent.attractTestClock(window);
</script><script>
  const context = document.querySelector("canvas").getContext("2d");
  const held = {}, kept = [];
  let state = "menu", x = 0, speed = 1, ticks = 0;
  addEventListener("keydown", ({ code }) => { held[code] = true; });
  addEventListener("keyup", ({ code }) => { held[code] = false; });
  function begin() {
    state = "playing"; x = Math.random(); ticks = 0; speed = 1;
    /*BEGIN*/
  }
  function frame() {
    if (state === "playing") {
      ticks++;
      if (x < 20) { x += held.Space ? 0.2 * speed : 0.05; speed = 1; }
      /*TICK*/
      if (ticks >= 1500) state = "over";
    }
    context.clearRect(0, 0, 60, 40);
    context.fillRect(Math.round(x), 10, 4, 4);
    /*DRAW*/
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
  window.look = () => ({ state, x, ticks });
</script>`;

interface Parts {
  begin?: string;
  tick?: string;
  draw?: string;
}

function drive({ begin = "", tick = "", draw = "" }: Parts, options: Partial<PageGameOptions> = {}) {
  const text = PAGE.replace("/*BEGIN*/", begin).replace("/*TICK*/", tick).replace("/*DRAW*/", draw);
  const seen = { observe: (w: { look(): { x: number } }) => [w.look().x, 0], score: () => 0 };
  return hop({ ...seen, ...options }, "", text);
}

async function run(
  kind: PlaytestDrill["kind"],
  game: ReturnType<typeof drive>,
  maxSteps = 300,
): Promise<PlaytestDrilled> {
  const frames = new PageFrames(game, { base: location.href, maxCopies: 2, isFresh: true });
  const episodes = await played(game, 3, maxSteps, frames);
  frames.close();
  const result = await drilled(kind, game, episodes, { base: location.href });
  // One that was loaded for an episode that did not come goes when it is there.
  await expect.poll(() => numFrames()).toBe(0);
  return result;
}

test("a page that stands still for ever is found where it does; one that draws, writes or uploads what is pressed is not", async () => {
  const { alarms, recorded, numbers, problem } = await run("soft-lock", drive({}));
  expect([alarms.length, numbers, problem]).toEqual([3, { episodes: 3, locked: 3 }, null]);
  // 20 in steps of two ticks, at random 0.2 or 0.05 a tick.
  for (const [i, { step }] of alarms.entries()) {
    expect(step).toBeGreaterThan(60);
    expect(step).toBeLessThan(100);
    // 5 s of 30 steps.
    expect(recorded[i]).toMatchObject({ num_steps: step + 150, end_reason: "stopped" });
  }
  const lost = ["locked", "problem"] as const;
  for (const draw of [
    "if (held.Space) context.fillRect(1, 30, 2, 2);",
    "document.querySelector('p').textContent = held.Space ? 'beep' : '';",
    `globalThis.gl ??= document.createElement("canvas").getContext("webgl");
     gl.bufferSubData(gl.ARRAY_BUFFER, 0, new Float32Array([held.Space ? 1 : 0]));`,
  ]) {
    const other = await run("soft-lock", drive({ draw }));
    expect([draw, other.alarms, other.numbers[lost[0]], other[lost[1]]]).toEqual([draw, [], 0, null]);
  }
});

test("a page that is over within ten seconds is not locked", async () => {
  // It is over after 1500 ticks, 750 steps; stopped after 500, the lock is looked for from step 350 on.
  const { alarms, numbers } = await run("soft-lock", drive({}), 500);
  expect([alarms, numbers]).toEqual([[], { episodes: 3, locked: 0 }]);
});

test("a second try that goes otherwise is found; a clean one is not, nor one in a slightly other phase, nor a page that reloads", async () => {
  const tries = "window.tries = (window.tries ?? -1) + 1;";
  const { alarms, problem } = await run("retry-broken", drive({ begin: `${tries} x += 5 * tries;` }));
  expect(problem).toBe(null);
  expect(alarms.map(({ oracle, step }) => [oracle, step])).toEqual([["retry-broken", 0]]);
  expect(alarms[0].text).toMatch(
    /^episode 0, played by the adapter's restart\(window\) in the same copy, differs .* at step 0 \(0.0 s\): observation\[0\] is /,
  );
  // Another after each try, or only where the page has just come up.
  const alikeIn = async (begin: string) =>
    (await run("retry-broken", drive({ begin }))).numbers.restarts_alike;
  expect(await alikeIn(`${tries} x += 5 * tries;`)).toBe(0);
  expect(await alikeIn(`${tries} x += tries > 0 ? 5 : 0;`)).toBe(1);
  const clean = { alarms: [], numbers: { episodes: 4 }, problem: null };
  expect(await run("retry-broken", drive({}))).toMatchObject(clean);
  expect(await run("retry-broken", drive({ begin: `${tries} x += tries / 1e3;` }))).toMatchObject(clean);
  // A slight difference hides no large one that lasts and follows at once; what comes later may follow from it.
  const jump = (tick: number) => `if (tries > 0 && ticks === ${tick}) x += 6;`;
  const both = (tick: number) => drive({ begin: `${tries} x += tries / 1e3;`, tick: jump(tick) });
  expect((await run("retry-broken", both(8))).alarms.map(({ step }) => step)).toEqual([4]);
  expect((await run("retry-broken", both(40))).alarms).toEqual([]);
  const reload = drive({ begin: `${tries} x += 5 * tries;` }, { reset: "reload" });
  for (const kind of ["retry-broken", "leak"] as const)
    expect(await run(kind, reload)).toMatchObject({ alarms: [], numbers: { episodes: 0 }, problem: null });
});

test("a menu that restarts a game once it is over is compared with a restart, since a page that has come up may be otherwise", async () => {
  const tries = "window.tries = (window.tries ?? -1) + 1;";
  const lost = (begin: string, until = 40) =>
    run(
      "retry-broken",
      drive(
        { begin: `${tries} ${begin}`, tick: `if (ticks >= ${until}) state = "over";` },
        {
          reset: "over",
          restart: undefined,
          menu: (w) => w.eval('if (state !== "playing") begin()'),
          playing: (w) => w.look().state === "playing",
          over: (w) => w.look().state === "over",
        },
      ),
    );
  expect(await lost("x += tries > 0 ? 5 : 0;")).toMatchObject({ alarms: [], numbers: { episodes: 4 } });
  const { alarms, problem } = await lost("x += 5 * tries;");
  expect([alarms.map(({ oracle, step }) => [oracle, step]), problem]).toEqual([[["retry-broken", 0]], null]);
  expect(alarms[0].text).toMatch(
    /^episode 1, after episode 0 in the same copy, differs from the same episode after a short one in a new copy at step 0 /,
  );
  expect((await lost("x += 5 * tries;", 2000)).problem).toContain("no episode came to its end");
  const dead = await lost("if (tries > 0) state = 'over';");
  expect(dead.alarms.map(({ text }) => text)).toEqual([
    expect.stringMatching(
      /^after this episode the game does not begin again in the same page: start\(\) threw: /,
    ),
  ]);
  expect(dead.recorded[0]).toMatchObject({ end_reason: "terminated" });
  const deaf = await lost(
    "if (tries > 0) Object.defineProperty(held, 'Space', { value: false, writable: false });",
  );
  expect([deaf.problem, deaf.alarms.map(({ oracle, text }) => [oracle, text])]).toEqual([
    null,
    [
      [
        "retry-broken",
        expect.stringMatching(
          /^after a restart by its menu 2 inputs do the same, each pressed for \d+ steps; in a new copy they go 2 ways$/,
        ),
      ],
    ],
  ]);
});

test("a key that does nothing any more is in no state another than waiting; a page whose restart is not clean is measured too", {
  tags: ["long"],
}, async () => {
  const [alive, dead] = [{ tick: "x = x % 20;" }, { tick: "x = ticks % 20;" }];
  const shares = async (parts: Parts) => (await run("dead-key", drive(parts))).numbers;
  expect(await shares(alive)).toEqual({ states: 32, "action 0": 1, "action 1": 1 });
  expect(await shares(dead)).toEqual({ states: 32, "action 0": 0, "action 1": 0 });
  const begin = "window.tries = (window.tries ?? 0) + 1;";
  const other = await shares({ ...alive, begin: `${begin} if (tries > 1) x += 3;` });
  expect(other).toEqual({ states: 32, "action 0": 1, "action 1": 1 });
  const draw = "context.fillRect(0, window.tries, 1, 1);";
  expect(await shares({ ...dead, begin, draw })).toEqual({ states: 32, "action 0": 0, "action 1": 0 });
});

test("what a page keeps of each episode is found by this browser's own heap; a page that keeps nothing is clean", {
  tags: ["long"],
}, async () => {
  expect(heapMeter()).not.toBeNull();
  const over = (w: { look(): { ticks: number } }) => w.look().ticks > 20;
  const leaking = await run("leak", drive({ begin: "kept.push(new Array(500).fill(x));" }, { over }), 30);
  expect(leaking.problem).toBe(null);
  expect(leaking.alarms.map(({ oracle }) => oracle)).toEqual(["leak"]);
  expect(leaking.numbers.bytes_per_episode).toBeGreaterThan(2_000);
  expect(leaking.numbers.bytes_per_episode).toBeLessThan(6_000);
  const clean = await run("leak", drive({}, { over }), 30);
  expect([clean.alarms, clean.problem, clean.numbers.episodes]).toEqual([[], null, 48]);
  expect(clean.numbers.bytes_per_episode).toBeLessThan(1_000);
});

test("the ticks of a page are timed one by one", async () => {
  const { alarms, numbers, problem } = await run("slow", drive({}), 30);
  expect([alarms, problem]).toEqual([[], null]);
  expect(numbers.microseconds_per_tick).toBeGreaterThan(0.5);
  expect(numbers.ticks).toBeGreaterThan(1_000);
});

test("a page that is followed gets the parameters of its episode", () => {
  const got: unknown[] = [];
  const adapter = {
    prepare: (_w: unknown, parameters: unknown) => got.push(parameters),
  } as unknown as PageAdapter;
  new PageEyes().following(adapter).prepare?.(blankPage(), { speed: 2 });
  expect(got).toEqual([{ speed: 2 }]);
});
