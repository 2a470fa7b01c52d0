/** Which workers are silent, and which have broken too often to be started again; time is an argument. */

/** A worker that ends this often within `RESTART_WINDOW_MS` is not restarted. */
export const MAX_BREAKS = 3;
export const RESTART_WINDOW_MS = 60_000;
/** A gap between two looks above this is our own sleep, not the workers'. */
export const SLEEP_MS = 2_000;
/** A worker that has not said a word for so long after its start: nobody is told that a frame's process has ended. */
const BEGIN_MS = 40_000;
/** Over how long a worker's speed is averaged, at least. */
const RATE_WINDOW_MS = 2_000;

export interface Heartbeat {
  leaseId: number | null;
  steps: number;
  agentSteps: number;
}

/** One worker's signs of life; owned by the supervisor. All times in monotonic milliseconds. */
export class Vitals {
  leaseId: number | null = null;
  /** Steps per slot under that lease. */
  steps = 0;
  /** Agent steps per second, over the last seconds. */
  stepsPerSecond = 0;
  #hasBegun = false;
  #lastHeard: number;
  #rateFrom: number;
  #rateSteps = 0;

  constructor(now: number) {
    this.#lastHeard = now;
    this.#rateFrom = now;
  }

  /** It said anything. */
  spoke(): void {
    this.#hasBegun = true;
  }

  heard(beat: Heartbeat, now: number): void {
    this.#lastHeard = now;
    this.leaseId = beat.leaseId;
    this.steps = beat.steps;
    const elapsed = now - this.#rateFrom;
    // The counter starts over when the worker gets other games.
    if (elapsed >= RATE_WINDOW_MS || beat.agentSteps < this.#rateSteps) {
      this.stepsPerSecond = Math.max(0, (1000 * (beat.agentSteps - this.#rateSteps)) / Math.max(1, elapsed));
      this.#rateFrom = now;
      this.#rateSteps = beat.agentSteps;
    }
  }

  /** Forgives the silence so far: the supervisor itself was asleep. */
  forgive(now: number): void {
    this.#lastHeard = now;
  }

  /** Whether it has said nothing since its start, for `factor` times as long as that may take. */
  isStillborn(now: number, factor: number): boolean {
    return !this.#hasBegun && now - this.#lastHeard > BEGIN_MS * factor;
  }

  /** Whether it holds a lease and has not been heard for `silenceMs`. */
  isSilent(now: number, silenceMs: number): boolean {
    return this.leaseId !== null && now - this.#lastHeard > silenceMs;
  }
}

/** How often each worker of an assignment broke; owned by the supervisor. */
export class RestartLimit {
  readonly #breaks = new Map<number, number[]>();

  /** Counts one more break of worker `index`. Returns whether it may be started again. */
  mayRestart(index: number, now: number): boolean {
    const recent = (this.#breaks.get(index) ?? []).filter((at) => now - at < RESTART_WINDOW_MS);
    recent.push(now);
    this.#breaks.set(index, recent);
    return recent.length < MAX_BREAKS;
  }

  clear(): void {
    this.#breaks.clear();
  }
}
