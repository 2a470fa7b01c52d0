/** Which episodes of a lease are sent: all, or the best, the worst and the median of those that end under it. */

import type { Lease, RecordedEpisode } from "@attract/schema";

/** Episodes among which the median is looked for, besides the best and the worst. */
const MAX_CANDIDATES = 32;

interface Candidate {
  readonly value: number;
  readonly episode: RecordedEpisode;
}

/** Owned by the player of one lease. */
export class EpisodePicker {
  readonly #mode: Lease["record"];
  readonly #send: (episode: RecordedEpisode) => void;
  #best: Candidate | null = null;
  #worst: Candidate | null = null;
  #candidates: Candidate[] = [];
  /** Mean returns of all that ended. */
  #values: number[] = [];

  constructor(mode: Lease["record"], send: (episode: RecordedEpisode) => void) {
    this.#mode = mode;
    this.#send = send;
  }

  /** Whether nothing is asked for. */
  get isIdle(): boolean {
    return this.#mode === "none";
  }

  /**
   * An episode has ended.
   *
   * @param returns per agent.
   * @param record gives it; called only if it may be sent, and null where it was not recorded.
   */
  offer(returns: ArrayLike<number>, record: () => RecordedEpisode | null): void {
    if (this.#mode === "none") return;
    if (this.#mode === "all") {
      const episode = record();
      if (episode !== null) this.#send(episode);
      return;
    }
    const value = mean(returns);
    this.#values.push(value);
    const isBest = this.#best === null || value > this.#best.value;
    const isWorst = this.#worst === null || value < this.#worst.value;
    if (!isBest && !isWorst && this.#candidates.length >= MAX_CANDIDATES) return;
    const episode = record();
    if (episode === null) return;
    const candidate = { value, episode };
    if (isBest) this.#best = candidate;
    if (isWorst) this.#worst = candidate;
    if (this.#candidates.length < MAX_CANDIDATES) this.#candidates.push(candidate);
  }

  /** Sends what `extremes` asks for: each episode once. */
  finish(): void {
    const middle = median(this.#values);
    let nearest: Candidate | null = null;
    for (const candidate of this.#candidates) {
      if (nearest === null || Math.abs(candidate.value - middle) < Math.abs(nearest.value - middle))
        nearest = candidate;
    }
    for (const candidate of new Set([this.#best, this.#worst, nearest])) {
      if (candidate !== null) this.#send(candidate.episode);
    }
    this.#best = this.#worst = null;
    this.#candidates = [];
    this.#values = [];
  }
}

function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
