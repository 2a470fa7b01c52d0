/** Checks games, each in its own worker, and returns the findings. A check that hangs is ended and reported. */

import type { CheckGame, GameChecked, GameReference } from "@attract/schema";
import type { GameThread } from "../game/game-thread.ts";

/** A check may take so much longer than its budget, loading the game included, before it counts as a hang. */
export const GRACE_MS = 5_000;

export type CheckNews =
  /** What begins: if the game does not come back, that is where. */
  { type: "phase"; phase: string } | { type: "checked"; answer: GameChecked };

/** One game at a time; owned by the supervisor. */
export class GameChecker {
  readonly #createWorker: (game: GameReference) => GameThread;
  #worker: GameThread | null = null;
  #deadline = 0;
  #phase = "";
  #give: (answer: GameChecked) => void = () => undefined;
  #order: CheckGame | null = null;

  constructor(createWorker: (game: GameReference) => GameThread) {
    this.#createWorker = createWorker;
  }

  /** Checks a game; a check under way is dropped. `give` is called once, unless `end` comes first. */
  begin(order: CheckGame, now: number, give: (answer: GameChecked) => void): void {
    this.end();
    const worker = this.#createWorker(order.game);
    this.#worker = worker;
    this.#order = order;
    this.#give = give;
    this.#deadline = now + order.budget_seconds * 1000 + GRACE_MS;
    this.#phase = "loading the module";
    worker.onmessage = (event: MessageEvent<CheckNews>) => {
      const news = event.data;
      if (news.type === "phase") this.#phase = news.phase;
      else this.#finish(news.answer);
    };
    worker.onerror = (event) => {
      const text = event.message || "the worker's script could not be loaded";
      this.#finish(failedCheck(order, { id: "load", text, fix: "fix the module" }));
    };
    worker.postMessage(order);
  }

  /** Gives up a game that does not come back. */
  check(now: number): void {
    const order = this.#order;
    if (order === null || now <= this.#deadline) return;
    const seconds = Math.round((order.budget_seconds * 1000 + GRACE_MS) / 1000);
    this.#finish(
      failedCheck(order, {
        id: "hang",
        text: `the game did not come back within ${seconds} s, during ${this.#phase}: a hang leaves no stack`,
        fix: "look for a loop in create(), start() or update() that never ends",
      }),
    );
  }

  end(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#order = null;
  }

  #finish(answer: GameChecked): void {
    this.end();
    this.#give(answer);
  }
}

/** The answer to a check that came to nothing. */
export function failedCheck(
  order: CheckGame,
  { id, text, fix, stack = null }: { id: "load" | "hang"; text: string; fix: string; stack?: string | null },
): GameChecked {
  return {
    type: "game_checked",
    check_id: order.check_id,
    findings: [{ id, severity: "error", text, fix, stack, method: null }],
    description: null,
    play: null,
    unplayable: id === "load",
    seconds: 0,
  };
}
