import type { PlaytestDrilled } from "@attract/schema";
import { discrete, type PageGameOptions } from "attract/page";
import { expect, test } from "vitest";
import { PageFrames } from "../../../../web/worker/src/page/page-frames.ts";
import { hop } from "../../worker/page/hop-page.ts";
import { drilled, played } from "../drills/drilled.ts";

/** Drives to the right while a key is held. Tiles and ten posts, a text on the canvas and one beside it. */
const PAGE = `<!doctype html><style>body { margin: 0; overflow: hidden; }</style>
<p style="margin: 0 6px; height: 24px">Lap 1</p><canvas width="320" height="200" style="display: block"></canvas><script>
  parent.attractTestClock(window);
</script><script>
  const canvas = document.querySelector("canvas"), context = canvas.getContext("2d"), held = {};
  let state = "menu", x = 0, ticks = 0;
  addEventListener("keydown", ({ code }) => { held[code] = true; });
  addEventListener("keyup", ({ code }) => { held[code] = false; });
  function begin() { state = "playing"; x = Math.random(); ticks = 0; }
  function draw() {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = "#124"; context.fillRect(0, 0, 320, 200);
    /*DRAW*/
    for (let i = 0; i < 10; i++) {
      context.fillStyle = "hsl(" + 36 * i + " 60% 60%)";
      context.fillRect(20 + 30 * i, 20 + (i * 67) % 130, 18, 22);
    }
    context.fillStyle = "#fff"; context.fillRect(x, 180, 12, 12);
    context.fillText("Speed 7", /*AT*/ 10, 12);
    /*AFTER*/
  }
  function frame() {
    if (state === "playing") { ticks++; x += held.Space ? 0.5 : 0.1; if (ticks >= 500) state = "over"; }
    draw();
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
  window.look = () => ({ state, x, ticks });
</script>`;

interface Parts {
  draw?: string;
  at?: string;
  after?: string;
  /** Whether nothing is pressed. */
  isIdle?: boolean;
  /** Of the window; the canvas has 320 by 200. */
  size?: [number, number];
}

async function looked(parts: Parts, seconds = 60): Promise<PlaytestDrilled> {
  const text = PAGE.replace("/*DRAW*/", parts.draw ?? "")
    .replace("/*AT*/ 10", parts.at ?? "10")
    .replace("/*AFTER*/", parts.after ?? "");
  const options: Partial<PageGameOptions> = {
    size: parts.size ?? [320, 230],
    observe: (w: { look(): { x: number } }) => [w.look().x, 0],
    score: () => 0,
    ...(parts.isIdle ? { action: discrete(["wait"]), keys: { wait: [] } } : {}),
  };
  const game = hop(options, "", text);
  const frames = new PageFrames(game, { base: location.href, maxCopies: 2, isFresh: true });
  const episodes = await played(game, 2, 240, frames);
  frames.close();
  return await drilled("sight", game, episodes, { base: location.href, seconds });
}

const found = ({ alarms, problem }: PlaytestDrilled) => [...alarms.map(({ oracle }) => oracle), problem];

test("a page that is drawn as it should be is left in peace, also where it flashes", async () => {
  const { alarms, problem, numbers } = await looked({});
  expect([alarms, problem]).toEqual([[], null]);
  // Two episodes of 240 steps, each of two ticks.
  expect(numbers).toMatchObject({ episodes: 2, ticks: 960 });
  const flash = "if (ticks % 90 < 5) { context.fillStyle = '#fff'; context.fillRect(0, 0, 320, 200); }";
  expect(found(await looked({ after: flash }))).toEqual([null]);
});

test("in pages that are loaded for each episode, what is pressed shows between episodes that began alike", async () => {
  const observe = (w: { look(): { x: number } }): number[] => [w.look().x, 0];
  const game = hop({ size: [320, 230], reset: "reload", observe, score: () => 0 }, "", PAGE);
  const frames = new PageFrames(game, { base: location.href, maxCopies: 2, isFresh: true });
  const [first, second] = await played(game, 2, 60, frames);
  frames.close();
  const { seed, instance, episode } = first;
  const alike = { ...second, seed, instance, episode };
  const moved = async (...episodes: (typeof first)[]): Promise<number> =>
    (await drilled("sight", game, episodes, { base: location.href, seconds: 60 })).numbers.moved;
  expect([await moved(first, alike), await moved(first, first), await moved(first, second)]).toEqual([
    1, 0, 0,
  ]);
});

test("a picture that is gone, one that is not drawn, one that jumps and a word at the edge are found", async () => {
  const night = "if (ticks > 200) { context.fillStyle = '#124'; context.fillRect(0, 0, 320, 200); }";
  expect(found(await looked({ after: night }))).toContain("blank");
  expect(found(await looked({ draw: "if (ticks % 40 === 39) return;" }))).toEqual([
    "flicker",
    "flicker",
    null,
  ]);
  const aside = "context.translate(ticks % 120 > 100 ? 60 : 0, 0);";
  expect(found(await looked({ draw: aside, isIdle: true }))).toEqual(["jump", "jump", null]);
  // At random, what is pressed changes all the time.
  expect(found(await looked({ draw: aside }))).toEqual([null]);
  const { alarms } = await looked({ at: "305" });
  expect(alarms.map(({ text }) => text)).toEqual([
    expect.stringMatching(
      /^the text "Speed 7" is cut off: \d+ % of it lie outside the view, beyond the right edge$/,
    ),
  ]);
});

test("a part of a picture that lies beyond its edge is found where it is drawn; what has no place before its first part is not", async () => {
  const sheet =
    "window.sheet ??= Object.assign(document.createElement('canvas'), { width: 90, height: 30 });";
  const drawing = (x: number): Parts => ({
    after: `${sheet} context.drawImage(sheet, ticks > 100 ? ${x} : 0, 0, 30, 30, 8, 8, 30, 30);`,
  });
  const { alarms } = await looked(drawing(120));
  expect(alarms.map(({ oracle, text, step }) => [oracle, text, step])).toEqual([
    [
      "outside",
      "nothing is drawn: drawImage() takes 30 x 30 pixels at 120,0 of canvas, which is 90 x 30",
      49,
    ],
  ]);
  expect(found(await looked(drawing(60)))).toEqual([null]);
  expect(found(await looked(drawing(-30)))).toEqual([null]);
});

test("a canvas that covers a quarter of the window is the picture, however few things are drawn on it", async () => {
  const one = "context.fillStyle = '#124'; context.fillRect(45, 14, 275, 160);";
  const { alarms } = await looked({ draw: "if (ticks % 40 === 39) return;", after: one, size: [600, 380] });
  expect(alarms.map(({ oracle }) => oracle)).toContain("flicker");
});

test("the first frame of it is named, and the episode that shows it", async () => {
  const { alarms, recorded } = await looked({ after: "if (ticks > 300) canvas.style.display = 'none';" });
  const blank = alarms.find(({ oracle }) => oracle === "blank");
  // The frame of the restart is one of the 301.
  expect([blank?.tick, blank?.step]).toEqual([300, 149]);
  expect(recorded[0]).toMatchObject({ num_steps: 240 });
});

test("a page of endless elements and words costs no more than its time, and one that breaks what looks at it is named", async () => {
  const many =
    "for (let i = 0; i < 40; i++) document.body.append(document.createElement('i')); context.fillText('x'.repeat(1e5), 0, ticks % 200);";
  const began = performance.now();
  const { problem } = await looked({ draw: many }, 3);
  expect(problem === null || problem.startsWith("no time was left")).toBe(true);
  // The crowd's play is not drawn, but grows as well.
  expect(performance.now() - began).toBeLessThan(40_000);
  const broken = "window.getComputedStyle = () => { throw new Error('mine'); };";
  expect((await looked({ draw: broken })).problem).toBe("the page cannot be seen: Error: mine");
});
