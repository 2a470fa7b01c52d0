/** Dialogs that a page opens. They are answered at once, and their texts are kept. */

import { define, defineProperty } from "./overriding.ts";

type Page = Window & typeof globalThis & { attractAlerts?: string[] };

/** Dialogs kept per episode; older ones are dropped. */
const MAX_ALERTS = 20;
const NAMES = ["alert", "confirm", "prompt"] as const;

/**
 * What the page in `window` has said by `alert()`, `confirm()` and `prompt()` in this episode, the newest last.
 *
 * While it is trained, and while `attachAgent` plays, these dialogs need not be closed by hand.
 */
export function alerts(window: Page): readonly string[] {
  return window.attractAlerts ?? [];
}

export function forgetAlerts(window: Page): void {
  if (window.attractAlerts !== undefined) window.attractAlerts.length = 0;
}

/** Answers in the place of a person: yes, and nothing. Returns what gives the browser's own dialogs back. */
export function answerDialogs(window: Page): () => void {
  const said: string[] = [];
  const before = NAMES.map((name) => window[name]);
  defineProperty(window, "attractAlerts", { value: said, configurable: true });
  const answer =
    <T>(given: T) =>
    (text: unknown = ""): T => {
      said.push(String(text));
      if (said.length > MAX_ALERTS) said.shift();
      return given;
    };
  define(window, "alert", answer(undefined));
  define(window, "confirm", answer(true));
  define(window, "prompt", answer(null));
  return () => {
    for (const [i, name] of NAMES.entries()) define(window, name, before[i]);
  };
}
