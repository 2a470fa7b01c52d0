/** How much of a processor a thread gets on this machine at present. */

/** A piece of work takes so long by itself, at least: far more than the clock's steps. */
const PIECE_MS = 2;
/** How long is measured: many turns of other programs. */
const MEASURED_MS = 400;

/** A machine that slows a thread down by less is not busy; one that slows it down by more is waited for no longer. */
const MIN_SLOWDOWN = 1.3;
const MAX_SLOWDOWN = 20;
/** Time between two looks at how busy it is. */
const BUSY_LOOK_MS = 2_000;

/** Stretches limits of time on a busy machine; it measures when it is asked, for only what is late needs to know. */
export class BusyWatch {
  readonly #measure: () => number;
  #factor = 1;
  #nextLook = Number.NEGATIVE_INFINITY;

  constructor(measure: () => number = slowdown) {
    this.#measure = measure;
  }

  /** How many times as long as on an idle machine something may take; 1 where it is not busy. @param now in ms. */
  factor(now: number): number {
    if (now >= this.#nextLook) {
      const factor = this.#measure();
      this.#factor = factor < MIN_SLOWDOWN ? 1 : Math.min(factor, MAX_SLOWDOWN);
      this.#nextLook = now + BUSY_LOOK_MS;
    }
    return this.#factor;
  }
}

/** What a report of something late says of a busy machine, as the end of a sentence; empty where it is not busy. */
export function busyText(factor: number): string {
  return factor === 1 ? "" : `, on a machine so busy that a thread takes ${factor.toFixed(1)} times as long`;
}

/** How many times as long as by itself work takes in this thread, because of what else runs: 1 or more. Blocks for 0.4 s. */
export function slowdown(now: () => number = () => performance.now()): number {
  let rounds = 1_000;
  while (timed(rounds, now) < PIECE_MS) rounds *= 2;
  const began = now();
  let pieces = 0;
  let fastest = Number.POSITIVE_INFINITY;
  let passed = 0;
  do {
    fastest = Math.min(fastest, timed(rounds, now));
    pieces++;
    passed = now() - began;
  } while (passed < MEASURED_MS);
  return Math.max(1, passed / (pieces * fastest));
}

function timed(rounds: number, now: () => number): number {
  const began = now();
  let sum = began;
  for (let i = 0; i < rounds; i++) sum = Math.sin(sum + i);
  // The result is used, so that the work is done.
  return now() - began + 0 * sum;
}
