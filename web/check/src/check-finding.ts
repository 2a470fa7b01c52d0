/** What the conformance kit says of a game: findings with stable ids, each with what is wrong and what to do. */

import type { MethodSource } from "attract/method-source";

/** Every finding there is; the ids are stable, tools may rely on them. */
export const CHECKS = [
  "load",
  "definition",
  "contract",
  "hang",
  "endless",
  "over-at-once",
  "reward-size",
  "score-lost-at-end",
  "score-falls",
  "no-active-agent",
  "out-of-bounds",
  "not-reproducible",
  "state-survives-start",
  "random",
  "clock",
  "network",
  "timer",
  "storage",
  "no-variety",
  "constant-observation",
  "constant-reward",
  "constant-return",
  "ignored-actions",
  "action-without-effect",
  "parameter",
  "unread-result",
  "draw-throws",
  "draw-coordinates",
  "draw-blank",
  "draw-unchanging",
  "no-draw",
  "slow-create",
  "slow-step",
  "page-error",
  "reads-drawing",
  "slow-webgl",
  "undrawn-ticks",
  "needs-turns",
  "reads-layout",
] as const;

export type CheckId = (typeof CHECKS)[number];

export interface Finding {
  id: CheckId;
  /** An `error` keeps agents from learning the game as it is meant; a `warning` is worth a look. */
  severity: "error" | "warning";
  /** What is wrong, with the numbers. */
  text: string;
  /** What to do about it. */
  fix: string;
  /** Frames that lead to the place, as the browser prints them; null where none is known. */
  stack: string | null;
  /** The method of the game that it is about; null where there is none, or `stack` says more. */
  method: MethodSource | null;
  /** What was thrown, if that is what it is about. */
  thrown?: unknown;
}

export type Report = (finding: Omit<Finding, "stack" | "method"> & Partial<Finding>) => void;

/** Time a check may take: monotonic milliseconds now, and when it must be done. */
export class Deadline {
  readonly now: () => number;
  readonly #until: number;

  constructor(now: () => number, until: number) {
    this.now = now;
    this.#until = until;
  }

  get isOver(): boolean {
    return this.now() >= this.#until;
  }

  /** Milliseconds; negative: it is over. */
  get left(): number {
    return this.#until - this.now();
  }

  /** An earlier one: at most this share of what is left. */
  share(fraction: number): Deadline {
    const now = this.now();
    return new Deadline(this.now, now + Math.max(0, this.#until - now) * fraction);
  }
}
