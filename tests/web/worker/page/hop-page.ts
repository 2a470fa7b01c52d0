/** A page of a game, made in the test: jumps over what comes, draws chance, and has a menu and a best score. */

import { DEFAULT_OPTIONS, VirtualClock } from "../../../../web/page-clock/src/virtual-clock.ts";
import type { GameDefinition } from "../../../../web/sdk/src/contract.ts";
import { box, definePageGame, discrete, type PageGameOptions } from "../../../../web/sdk/src/page/index.ts";

const PAGE = `<!doctype html><canvas width="40" height="20"></canvas><script>
  parent.attractTestClock(window);
</script><script>
  const context = document.querySelector("canvas").getContext("2d");
  let state = "menu", y = 0, score = 0, ticks = 0, seen = [];
  const sky = Math.random();
  const held = {};
  addEventListener("keydown", ({ code }) => { held[code] = true; if (code === "Enter" && state !== "playing") begin(); });
  addEventListener("keyup", ({ code }) => { held[code] = false; });
  function begin() { state = "playing"; y = Math.random(); score = 0; ticks = 0; }
  function frame() {
    if (state === "playing") {
      ticks++;
      y += (held.Space ? 0.1 : -0.01) + 0.01 * Math.random();
      if (y > 1) score++;
      if (ticks >= 24) { state = "over"; localStorage.best = score; }
      /*EXTRA*/
    }
    context.fillStyle = "red"; context.fillRect(0, 0, 40, 20);
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
  window.look = () => ({ state, y, score, ticks, sky });
</script>`;

/** The same game as a loop that waits: for a frame, and for promises after it. */
const AWAITING = PAGE.replace(
  /function frame\(\) \{/,
  "async function frame() { for (let i = 0; i < 20; i++) await null;",
).replace(
  /requestAnimationFrame\(frame\);\n\s*\}\n\s*requestAnimationFrame\(frame\);/,
  "await null; requestAnimationFrame(frame); }\n  requestAnimationFrame(frame);",
);

declare global {
  interface Window {
    attractTestClock: (page: Window & typeof globalThis) => void;
  }
}

window.attractTestClock = (page) => {
  const frame = page.frameElement as HTMLElement & {
    attractPrepare(page: Window, clock: VirtualClock): void;
  };
  const options = { ...DEFAULT_OPTIONS, ...JSON.parse(frame.dataset.attractClock ?? "{}") };
  frame.attractPrepare(page, new VirtualClock(page, options));
};

/** As `hop`, of a page that plays on between its frames. */
export function awaitingHop(options: Partial<PageGameOptions> = {}): GameDefinition {
  return hop(options, "", AWAITING);
}

/** @param extra statements of the page, run in each tick of an episode. */
export function hop(options: Partial<PageGameOptions> = {}, extra = "", text = PAGE): GameDefinition {
  const definition = definePageGame({
    id: "Hop-v1",
    page: "hop.html",
    size: [60, 40],
    ticksPerStep: 2,
    observation: box({ shape: [2] }),
    action: discrete(["wait", "jump"]),
    keys: { wait: [], jump: ["Space"] },
    ready: (w) => w.look?.().state === "menu",
    restart: (w) => w.begin(),
    observe: (w) => [w.look().y, w.look().ticks],
    score: (w) => w.look().score,
    over: (w) => w.look().state === "over",
    ...options,
  });
  const page = URL.createObjectURL(new Blob([text.replace("/*EXTRA*/", extra)], { type: "text/html" }));
  return { ...definition, page: { ...definition.page!, page } };
}

/** How many pages of games there are. */
export function numFrames(): number {
  return document.querySelectorAll("iframe[data-attract-clock]").length;
}
