/** What the time of a lease goes into, and when the event loop must have its turn. */

import { YIELD_MS } from "./yielding.ts";

/** Instances stepped between two looks at the clock at first; then up to so many, fewer where they take longer than `CHUNK_MS`. */
const FIRST_CHUNK = 16;
const LARGEST_CHUNK = 64;
const CHUNK_MS = 0.5;

/** Owned by one rollout loop. A look at the clock costs as much as a game's tick: hence the chunks. */
export class PlayClock {
  /** Instances to step until the next look. */
  chunk = FIRST_CHUNK;
  readonly #now: () => number;
  readonly #yieldTurn: () => Promise<void>;
  #began = 0;
  #lastYield = 0;
  /** The last look at the clock between games. */
  #lastLook = 0;
  #lastEnd: number | null = null;
  #inferenceMs = 0;
  #gameMs = 0;

  /** @param now monotonic, in milliseconds. @param yieldTurn gives the event loop its turn. */
  constructor(now: () => number, yieldTurn: () => Promise<void>) {
    this.#now = now;
    this.#yieldTurn = yieldTurn;
  }

  /** A lease begins. */
  begin(): void {
    this.#began = this.#now();
    this.#lastYield = this.#began;
    this.#inferenceMs = 0;
    this.#gameMs = 0;
  }

  /** Where the time of the lease that ends went; `wait_seconds` is from the end of the one before to its beginning. */
  end(): {
    play_seconds: number;
    inference_seconds: number;
    game_seconds: number;
    wait_seconds: number;
  } {
    const ended = this.#now();
    const waited = this.#lastEnd === null ? 0 : this.#began - this.#lastEnd;
    this.#lastEnd = ended;
    return {
      play_seconds: (ended - this.#began) / 1000,
      inference_seconds: this.#inferenceMs / 1000,
      game_seconds: this.#gameMs / 1000,
      wait_seconds: waited / 1000,
    };
  }

  /** Games are stepped from now on. */
  beginGames(): void {
    this.#lastLook = this.#now();
  }

  /** A chunk of games was stepped; whether the event loop must have its turn now. */
  isTurnDueAfterGames(): boolean {
    const now = this.#now();
    const tookMs = now - this.#lastLook;
    this.#gameMs += tookMs;
    this.#lastLook = now;
    this.chunk = tookMs > CHUNK_MS ? (this.chunk + 1) >> 1 : Math.min(LARGEST_CHUNK, 2 * this.chunk);
    return now - this.#lastYield >= YIELD_MS;
  }

  /** The policies have run since the games' last step; whether the event loop must have its turn now. */
  isTurnDueAfterPolicies(): boolean {
    const now = this.#now();
    this.#inferenceMs += now - this.#lastLook;
    return now - this.#lastYield >= YIELD_MS;
  }

  /** Whether the event loop must have its turn now. */
  isTurnDue(): boolean {
    return this.#now() - this.#lastYield >= YIELD_MS;
  }

  async yield(): Promise<void> {
    await this.#yieldTurn();
    this.#lastYield = this.#now();
  }
}
