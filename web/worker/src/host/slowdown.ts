/** How much of a processor a thread gets on this machine at present. */

/** A piece of work takes so long by itself, at least: far more than the clock's steps. */
const PIECE_MS = 2;
/** How long is measured: many turns of other programs. */
const MEASURED_MS = 400;

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
