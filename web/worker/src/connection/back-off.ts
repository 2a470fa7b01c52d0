/**
 * When to connect again: exponential back-off with full jitter.
 *
 * Not a reconnecting library: whether to come back, reload or stay away follows from the close code, and what is sent
 * again from unacknowledged blocks. A library decides both by itself and would have to be overruled.
 */

import { closeCodes } from "@attract/schema";

export const FIRST_DELAY_MS = 500;
export const LONGEST_DELAY_MS = 30_000;

/** Owned by one connection. */
export class BackOff {
  #attempt = 0;
  readonly #random: () => number;

  /** @param random uniform in [0, 1) */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Milliseconds until the next attempt: uniform up to 0.5 s, then up to twice that each time, at most up to 30 s. */
  nextDelayMs(): number {
    const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#attempt);
    this.#attempt++;
    return this.#random() * ceiling;
  }

  /** To be called once the server has answered. */
  succeeded(): void {
    this.#attempt = 0;
  }
}

/** What a close code asks of the client. */
export type AfterClose = "reconnect" | "reload" | "run_over" | "give_up";

export function afterClose(code: number): AfterClose {
  if (closeCodes.RETRY.has(code)) return "reconnect";
  if (code === closeCodes.VERSION) return "reload";
  return code === closeCodes.RUN || code === closeCodes.RUN_ENDED || code === closeCodes.NORMAL
    ? "run_over"
    : "give_up";
}
