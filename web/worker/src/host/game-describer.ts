/** Loads a game once, in its own worker, and returns its description. */

import type { GameDescription, GameReference } from "@attract/schema";
import { type FailureReport, NOWHERE, UNKNOWN_STEP } from "../game/failures.ts";
import type { GameThread } from "../game/game-thread.ts";
import type { RolloutToSupervisor, SupervisorToRollout } from "./worker-messages.ts";
import { scriptFailure } from "./worker-reports.ts";

/** Loading a game may take this long. */
export const LOAD_MS = 15_000;

export interface DescriberHandlers {
  described(description: GameDescription): void;
  failed(report: FailureReport): void;
}

/** One game at a time; owned by the supervisor. */
export class GameDescriber {
  readonly #createWorker: (game: GameReference) => GameThread;
  #worker: GameThread | null = null;
  #deadline = 0;
  #failed: DescriberHandlers["failed"] = () => undefined;

  constructor(createWorker: (game: GameReference) => GameThread) {
    this.#createWorker = createWorker;
  }

  /** Loads `game`; what was being loaded before is dropped. Exactly one of the handlers is called, unless `end` comes first. */
  begin(game: GameReference, now: number, handlers: DescriberHandlers): void {
    this.end();
    const worker = this.#createWorker(game);
    this.#worker = worker;
    this.#deadline = now + LOAD_MS;
    this.#failed = (report) => {
      this.end();
      handlers.failed(report);
    };
    worker.onmessage = (event: MessageEvent<RolloutToSupervisor>) => {
      const message = event.data;
      if (message.type === "describe_failed") this.#failed(message.report);
      if (message.type !== "described") return;
      this.end();
      handlers.described(message.description);
    };
    worker.onerror = (event) => this.#failed(scriptFailure(event.message, "load"));
    worker.postMessage({ type: "describe" } satisfies SupervisorToRollout);
  }

  /** Gives up a module that does not finish loading. */
  check(now: number): void {
    if (this.#worker === null || now <= this.#deadline) return;
    const text = `the game's module did not load within ${LOAD_MS / 1000} s; a hang leaves no stack`;
    this.#failed({ kind: "load", name: "Hang", text, stack: null, ...UNKNOWN_STEP, ...NOWHERE });
  }

  end(): void {
    this.#worker?.terminate();
    this.#worker = null;
  }
}
