/** A page under a clock of its own, for tests of single overrides. */

import { afterEach } from "vitest";
import {
  type ClockOptions,
  DEFAULT_OPTIONS,
  VirtualClock,
} from "../../../web/page-clock/src/virtual-clock.ts";

export interface HeldPage {
  readonly frame: HTMLIFrameElement;
  readonly clock: VirtualClock;
  /** Runs `code` in the page; what it returns. */
  run(code: string): unknown;
}

const frames: HTMLIFrameElement[] = [];

afterEach(() => {
  for (const frame of frames.splice(0)) frame.remove();
});

export function heldPage(options: Partial<ClockOptions> = {}): HeldPage {
  const frame = document.createElement("iframe");
  document.body.append(frame);
  return held(frame, options);
}

/** As `heldPage`, of this origin: an empty frame has none. */
export async function servedPage(options: Partial<ClockOptions> = {}): Promise<HeldPage> {
  const frame = document.createElement("iframe");
  frame.src = URL.createObjectURL(new Blob(["<body></body>"], { type: "text/html" }));
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  document.body.append(frame);
  await loaded;
  return held(frame, options);
}

function held(frame: HTMLIFrameElement, options: Partial<ClockOptions>): HeldPage {
  frames.push(frame);
  const page = frame.contentWindow as Window & typeof globalThis;
  const clock = new VirtualClock(page, { ...DEFAULT_OPTIONS, ...options });
  return { frame, clock, run: (code) => (page as unknown as { eval(code: string): unknown }).eval(code) };
}

/** The event loop has had some turns, and the browser may have drawn. */
export function turns(milliseconds = 20): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
