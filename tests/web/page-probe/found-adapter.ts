/** What a probe may have found in a page, and what the adapter of it defines. */

import path from "node:path";
import * as esbuild from "esbuild";
import type { Findings } from "../../../web/page-probe/src/findings.ts";
import type { Place } from "../../../web/page-probe/src/places.ts";
import type { GameDefinition } from "../../../web/sdk/src/contract.ts";

const SDK = path.resolve(import.meta.dirname, "../../../web/sdk/src/page/index.ts");

/** What the adapter's text defines, as the bundler of a game makes it. */
export async function defined(text: string): Promise<GameDefinition> {
  const { outputFiles } = await esbuild.build({
    stdin: { contents: text, loader: "ts", resolveDir: import.meta.dirname },
    bundle: true,
    format: "esm",
    write: false,
    alias: { "attract/page": SDK },
  });
  return (await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)).default;
}

/** As its author leaves it once it says all. */
export function finished(text: string): string {
  return text.replace(/unfinished: .*\n/, "");
}

export function place(text: string, kind: Place["kind"] = "number", fields: string[] = []): Place {
  return { text, name: text, kind, fields, isShown: false, read: () => undefined };
}

export const FOUND: Findings = {
  page: "dist/index.html",
  size: [640, 480],
  title: "My\nFlappy! */",
  inputs: {
    startAction: { kind: "none", ticks: 0 },
    moves: [
      { label: "left", input: { keys: ["ArrowLeft"] } },
      { label: "point far", input: { keys: [], pointer: [10.4, 20, "move"] } },
      { label: "click", input: { keys: [], pointer: [30, 40] } },
    ],
    taps: true,
    isMoving: true,
    changed: new Set(),
  },
  reading: {
    score: { place: place("w.lookInside().score"), why: "it grew 3 times in random play" },
    end: {
      place: place("w.lookInside().state", "word"),
      text: 'w.lookInside().state === "over"',
      why: "it occurred in random play",
      isOver: (value) => value === "over",
    },
    seen: [
      { place: place("w.lookInside().ship?.x"), scales: [640], fields: [], count: 1 },
      {
        place: place("w.lookInside().stones", "list", ["x", "at.y"]),
        scales: [640, 480],
        fields: ["x", "at.y"],
        count: 2,
      },
      { place: place("w.board", "grid"), scales: [2], fields: ["2", "2"], count: 4 },
    ],
    scores: [],
    ends: [],
  },
  seesPixels: false,
  isCompiled: false,
  restart: "w.newGame()",
  again: null,
  seed: "w.k.randSeed(seed)",
  playing: null,
  early: ["w.lookInside().state"],
  variables: ["ship", "stones", "score", "state", "unused"],
  advances: false,
  isAnimated: false,
  ticksPerStep: 4,
  maxSeconds: 90,
  alive: false,
  reached: false,
  open: [],
};

export const HANDS = {
  ticks: 0,
  stepTick: 0,
  parameters: {},
  hold: () => 0,
  point: () => 0,
  rotate: () => 0,
  lift: () => 0,
};

/** What the window of that page has. */
export const PAGE = {
  lookInside: () => ({ ship: { x: 320 }, stones: [{ x: 64, at: { y: 48 } }], score: 7, state: "over" }),
  board: [[0, { value: 2 }], [null]],
};
