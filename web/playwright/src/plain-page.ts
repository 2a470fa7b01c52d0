/** A page without an adapter, as a game: usual inputs are its actions, and of its end nothing is known. */

import type { GameDefinition } from "attract/contract";
import { definePageGame, type PageGameOptions } from "attract/page/page-game";
import { usualInputs } from "attract/page/usual-inputs";
import type { PointerPlace } from "attract/page-adapter";
import { box, discrete } from "attract/spaces";
import { DEVICES, type DeviceName } from "../../page-clock/src/devices.gen.ts";
import { LOAD_TICKS } from "../../page-probe/src/trial.ts";

const USUAL_SIZE = [800, 600] as const;
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
    ...(inputs === undefined ? usualInputs({ touch: DEVICES[device].touch }) : handsOf(inputs)),
    prepare: () => {
      looks = 0;
    },
    ready: () => looks++ >= LOAD_TICKS,
    reward: () => 0,
    over: () => false,
  });
}

function handsOf(inputs: readonly PlainInput[]): Pick<PageGameOptions, "action" | "keys" | "pointers"> {
  const keys: Record<string, string[]> = { nothing: [] };
  const pointers: Record<string, PointerPlace> = {};
  for (const input of inputs) {
    keys[String(input)] = typeof input === "string" ? [input] : [];
    if (typeof input !== "string") pointers[String(input)] = input;
  }
  return { action: discrete(Object.keys(keys)), keys, pointers };
}
