/** A page without an adapter, as a game: usual keys and places are its actions, and of its end nothing is known. */

import type { GameDefinition } from "attract/contract";
import { definePageGame } from "attract/page/page-game";
import type { PointerPlace } from "attract/page-adapter";
import { box, discrete } from "attract/spaces";
import { DEVICES, type DeviceName } from "../../page-clock/src/devices.gen.ts";
import { LOAD_TICKS } from "../../page-probe/src/trial.ts";

const USUAL_KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Space", "Enter"];
const USUAL_SIZE = [800, 600] as const;
/** Shares of the window's sides at which players click. */
const GRID = [1 / 6, 1 / 2, 5 / 6];
/** A page that nobody says the end of is not ended. */
const MAX_SECONDS = 3_600;

/** What players press: codes of keys, and places in CSS pixels. */
export type PlainInput = string | readonly [x: number, y: number];

export interface PlainPageOptions {
  device?: DeviceName;
  size?: readonly [width: number, height: number];
  inputs?: readonly PlainInput[];
}

/** Raises ConfigurationError. */
export function plainPage({ device = "desktop", size, inputs }: PlainPageOptions): GameDefinition {
  const [width, height] = size ?? DEVICES[device].size ?? USUAL_SIZE;
  const places = GRID.flatMap((y) =>
    GRID.map((x) => [Math.round(x * width), Math.round(y * height)] as const),
  );
  const keys: Record<string, string[]> = { nothing: [] };
  const pointers: Record<string, PointerPlace> = {};
  for (const input of inputs ?? [...USUAL_KEYS, ...places]) {
    keys[String(input)] = typeof input === "string" ? [input] : [];
    if (typeof input !== "string") pointers[String(input)] = input;
  }
  let looks = 0;
  return definePageGame({
    id: "Page-v1",
    page: "index.html",
    size: [width, height],
    device,
    maxSeconds: MAX_SECONDS,
    css: true,
    turns: true,
    observation: box({ low: 0, high: 1, shape: [1] }),
    observe: () => [0],
    action: discrete(Object.keys(keys)),
    keys,
    pointers,
    prepare: () => {
      looks = 0;
    },
    ready: () => looks++ >= LOAD_TICKS,
    reward: () => 0,
    over: () => false,
  });
}
