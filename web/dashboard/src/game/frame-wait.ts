/** How long a game has had to answer a frame of the page. */

/**
 * What counts of the time between two frames. A hidden page has none and a page on a busy machine has few: neither says
 * how long the game has had to answer.
 */
const MAX_FRAME_MS = 100;

export class FrameWait {
  #lastNow = 0;
  #waitedMs: number | null = null;

  /** The page draws. Returns the milliseconds for which the game has been waited for; null: it may be asked. */
  frame(now: number): number | null {
    if (this.#waitedMs !== null) this.#waitedMs += Math.min(now - this.#lastNow, MAX_FRAME_MS);
    this.#lastNow = now;
    return this.#waitedMs;
  }

  asked(): void {
    this.#waitedMs = 0;
  }

  answered(): void {
    this.#waitedMs = null;
  }
}
