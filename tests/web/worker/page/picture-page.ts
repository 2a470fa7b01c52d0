/** A page of a game, made in the test, of which an agent sees the canvas: a square that moves through chance and keys. */

import type { GameDefinition } from "../../../../web/sdk/src/contract.ts";
import { definePageGame, discrete, type PageGameOptions } from "../../../../web/sdk/src/page/index.ts";
import "./hop-page.ts";

/** One number of brightness for each frame of the episode, so that a picture tells when it was made. */
export const BY_TICK = `context.fillStyle = "rgb(" + [ticks, ticks, ticks] + ")"; context.fillRect(0, 0, 64, 48);`;
/** Redraws everything in each frame. */
export const ANEW = `context.fillStyle = "#123"; context.fillRect(0, 0, 64, 48);
  context.fillStyle = "#fc6"; context.beginPath(); context.arc(x, 20, 9, 0, 7); context.fill();
  context.fillStyle = "#fff"; context.fillText(ticks, 2, 12);`;
/** What changed alone: a trail that stays. */
export const CHANGES = `if (ticks <= 1) context.clearRect(0, 0, 64, 48);
  context.fillStyle = ticks % 2 ? "#fc6" : "#036"; context.fillRect(x, ticks, 5, 2);`;

export interface PictureOptions extends Partial<PageGameOptions> {
  body?: string;
  /** Statements that make `context`. */
  setup?: string;
  /** Statements that draw a frame by `x` and `ticks`. */
  draw?: string;
}

/** Episodes of 24 frames, the first of them part of the start. */
export function picture({ body, setup, draw, ...options }: PictureOptions = {}): GameDefinition {
  const page = `<!doctype html><body style="margin:0">${body ?? `<canvas id="board" width="64" height="48"></canvas>`}<script>
    parent.attractTestClock(window);
  </script><script>
    let x = 0, ticks = 0, state = "menu", context;
    const held = {};
    addEventListener("keydown", ({ code }) => { held[code] = true; });
    addEventListener("keyup", ({ code }) => { held[code] = false; });
    function begin() { state = "playing"; x = 5 + 20 * Math.random(); ticks = 0; }
    ${setup ?? `context = document.getElementById("board").getContext("2d");`}
    function frame() {
      if (state === "playing") {
        ticks++;
        x += (held.ArrowRight ? 1.5 : -0.25) + Math.random();
        if (ticks >= 24) state = "over";
      }
      ${draw ?? ANEW}
      requestAnimationFrame(frame);
    }
    requestAnimationFrame(frame);
    window.look = () => ({ state, ticks, x });
  </script>`;
  const definition = definePageGame({
    id: "Picture-v1",
    page: "picture.html",
    size: [100, 80],
    ticksPerStep: 4,
    pixels: { size: 16, stack: 3 },
    action: discrete(["left", "right"]),
    keys: { left: [], right: ["ArrowRight"] },
    ready: (w) => w.look?.().state === "menu",
    restart: (w) => w.begin(),
    score: (w) => w.look().x,
    over: (w) => w.look().state === "over",
    ...options,
  });
  const address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  return { ...definition, page: { ...definition.page!, page: address } };
}
