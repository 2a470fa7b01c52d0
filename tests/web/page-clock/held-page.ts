/** A page under a clock of its own, for tests of single overrides. */

import {
  type ClockOptions,
  DEFAULT_OPTIONS,
  VirtualClock,
} from "../../../web/page-clock/src/virtual-clock.ts";
import { blankPage, loadedFrame } from "../../support/blank-page.ts";

/** A page's window, with what its scripts put there. */
export type Page = Window & typeof globalThis & Record<string, unknown>;

export interface HeldPage {
  readonly page: Page;
  readonly frame: HTMLIFrameElement;
  readonly clock: VirtualClock;
  /** Runs `code` in the page; what it returns. */
  run(code: string): unknown;
}

export function heldPage(options: Partial<ClockOptions> = {}): HeldPage {
  return held(blankPage() as Page, options);
}

/** As `heldPage`, of this origin: an empty frame has none. */
export async function servedPage(options: Partial<ClockOptions> = {}): Promise<HeldPage> {
  return held(await servedWindow(), options);
}

/** A page of this origin without a clock. */
export async function servedWindow(): Promise<Page> {
  const src = URL.createObjectURL(new Blob(["<body></body>"], { type: "text/html" }));
  return (await loadedFrame({ src })).contentWindow as Page;
}

function held(page: Page, options: Partial<ClockOptions>): HeldPage {
  const clock = new VirtualClock(page, { ...DEFAULT_OPTIONS, ...options });
  const frame = page.frameElement as HTMLIFrameElement;
  return { page, frame, clock, run: (code) => run(page, code) };
}

/** Runs `code` in the page; what it returns. */
export function run(page: Page, code: string): unknown {
  return (page as unknown as { eval(code: string): unknown }).eval(code);
}

/** The event loop has had some turns, and the browser may have drawn. */
export function turns(milliseconds = 20): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
