/** What a host does for the server besides playing for a run: checks games and replays episodes, each in a worker of its own. */

import type {
  CheckGame,
  EpisodeReplay,
  EpisodesReplayed,
  GameChecked,
  GameReference,
  ReplayEpisodes,
} from "@attract/schema";
import type { GameThread } from "../game/game-thread.ts";

/** An order may take so much longer than its budget, loading the game included, before the game counts as a hang. */
export const GRACE_MS = 5_000;

export type GameOrder = CheckGame | ReplayEpisodes;
export type GameAnswer = GameChecked | EpisodesReplayed;

export type CheckNews =
  /** What begins: if the game does not come back, that is where. */
  | { type: "phase"; phase: string }
  /** One episode more of a `replay_episodes` was played. */
  | { type: "replayed"; replay: EpisodeReplay }
  | { type: "answered"; answer: GameAnswer };

/** One order at a time; owned by the supervisor. */
export class GameChecker {
  readonly #createWorker: (game: GameReference) => GameThread;
  #worker: GameThread | null = null;
  #deadline = 0;
  #phase = "";
  #replays: EpisodeReplay[] = [];
  #give: (answer: GameAnswer) => void = () => undefined;
  #order: GameOrder | null = null;

  constructor(createWorker: (game: GameReference) => GameThread) {
    this.#createWorker = createWorker;
  }

  /** Begins an order; one under way is dropped. `give` is called once, unless `end` comes first. */
  begin(order: GameOrder, now: number, give: (answer: GameAnswer) => void): void {
    this.end();
    const worker = this.#createWorker(order.game);
    this.#worker = worker;
    this.#order = order;
    this.#give = give;
    this.#deadline = now + order.budget_seconds * 1000 + GRACE_MS;
    this.#phase = "loading the module";
    this.#replays = [];
    worker.onmessage = (event: MessageEvent<CheckNews>) => {
      const news = event.data;
      if (news.type === "phase") this.#phase = news.phase;
      else if (news.type === "replayed") this.#replays.push(news.replay);
      else this.#finish(news.answer);
    };
    worker.onerror = (event) => {
      const text = event.message || "the worker's script could not be loaded";
      this.#finish(this.#failed(order, { id: "load", text, fix: "fix the module" }));
    };
    worker.postMessage(order);
  }

  /** Gives up a game that does not come back. */
  check(now: number): void {
    const order = this.#order;
    if (order === null || now <= this.#deadline) return;
    const seconds = Math.round((order.budget_seconds * 1000 + GRACE_MS) / 1000);
    this.#finish(
      this.#failed(order, {
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

  #failed(order: GameOrder, failure: Failure): GameAnswer {
    return order.type === "check_game"
      ? failedCheck(order, failure)
      : failedReplay(order, this.#replays, failure.text);
  }

  #finish(answer: GameAnswer): void {
    this.end();
    this.#give(answer);
  }
}

interface Failure {
  id: "load" | "hang";
  text: string;
  fix: string;
  stack?: string | null;
}

/** The answer to a check that came to nothing. */
export function failedCheck(order: CheckGame, { id, text, fix, stack = null }: Failure): GameChecked {
  return {
    type: "game_checked",
    check_id: order.check_id,
    findings: [{ id, severity: "error", text, fix, stack, method: null, recorded: null }],
    description: null,
    play: null,
    first_episode: null,
    unplayable: id === "load",
    seconds: 0,
  };
}

/** The answer to a replay that came no further than these episodes. */
export function failedReplay(
  order: ReplayEpisodes,
  replays: readonly EpisodeReplay[],
  problem: string,
): EpisodesReplayed {
  return { type: "episodes_replayed", replay_id: order.replay_id, replays: [...replays], problem };
}
