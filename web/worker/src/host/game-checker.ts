/** What a host does for the server besides playing for a run: checks and playtests games and replays episodes, each in a worker of its own. */

import type {
  Answer,
  Ask,
  CheckGame,
  EpisodeReplay,
  EpisodesReplayed,
  GameChecked,
  GamePlaytested,
  GameReference,
  PlayAgain,
  PlayedAgain,
  PlaytestDrilled,
  PlaytestEpisode,
  PlaytestGame,
  ReplayEpisodes,
} from "@attract/schema";
import type { GameThread } from "../game/game-thread.ts";
import { BusyWatch, busyText } from "./slowdown.ts";

/** A module or page that does not load is given up by then. */
export const LOADING_MS = 40_000;
/** An order may take so much longer than its budget, loading the game included, before the game counts as a hang. */
export const GRACE_MS = 5_000;

/** A playtest that says nothing for so long counts as a hang, whatever is left of its budget. */
export const PATIENCE_MS = 10_000;
/** A busy machine gets so much longer, beyond the order's time, to give a game that much of a processor. */
export const BUSY_MS = 45_000;

export type GameOrder = CheckGame | ReplayEpisodes | PlayAgain | PlaytestGame;
export type GameAnswer = GameChecked | EpisodesReplayed | PlayedAgain | GamePlaytested;

export type CheckNews =
  /** What begins: if the game does not come back, that is where. */
  | {
      type: "phase";
      phase: string;
      /** In a playtest: how long it may last. Default: `PATIENCE_MS`. */
      patienceMs?: number;
    }
  /** One episode more of a `replay_episodes` was played. */
  | { type: "replayed"; replay: EpisodeReplay }
  /** One episode or drill more of a `playtest_game` is over; its answer comes without them. */
  | { type: "played"; episode: PlaytestEpisode }
  | { type: "drilled"; drilled: PlaytestDrilled }
  /** A program outside is asked: until it answers, no time counts. */
  | Ask
  | { type: "answered"; answer: GameAnswer };

/** One order at a time; owned by the supervisor. */
export class GameChecker {
  readonly #createWorker: (game: GameReference) => GameThread;
  readonly #busy: BusyWatch;
  #worker: GameThread | null = null;
  #deadline = 0;
  #phase = "";
  #replays: EpisodeReplay[] = [];
  #episodes: PlaytestEpisode[] = [];
  #drilled: PlaytestDrilled[] = [];
  #began = 0;
  #lastNews = 0;
  #patienceMs = PATIENCE_MS;
  /** Whether something was said since the last `check`. */
  #hasNews = false;
  #isAsking = false;
  #lastCheck = 0;
  #send: (message: GameAnswer | Ask) => void = () => undefined;
  #order: GameOrder | null = null;

  constructor(createWorker: (game: GameReference) => GameThread, busy = new BusyWatch()) {
    this.#createWorker = createWorker;
    this.#busy = busy;
  }

  /**
   * Begins an order; one under way is dropped.
   *
   * @param send takes what a program outside is asked (see `answer`) and, unless `end` comes first, once the order's own answer.
   */
  begin(order: GameOrder, now: number, send: (message: GameAnswer | Ask) => void): void {
    this.end();
    this.#isAsking = false;
    this.#lastCheck = now;
    const worker = this.#createWorker(order.game);
    this.#worker = worker;
    this.#order = order;
    this.#send = send;
    this.#deadline = now + order.budget_seconds * 1000 + GRACE_MS;
    this.#phase = "loading the module";
    this.#replays = [];
    this.#episodes = [];
    this.#drilled = [];
    this.#began = this.#lastNews = now;
    this.#patienceMs = LOADING_MS;
    worker.onmessage = (event: MessageEvent<CheckNews>) => this.#heard(event.data);
    worker.onerror = (event) => {
      const text = event.message || "the worker's script could not be loaded";
      this.#finish(this.#failed(order, { id: "load", text, fix: "fix the module" }));
    };
    worker.postMessage(order);
  }

  /** Gives up a game that does not come back. */
  check(now: number): void {
    const order = this.#order;
    if (order === null) return;
    if (this.#isAsking) {
      this.#deadline += now - this.#lastCheck;
      this.#hasNews = true;
    }
    this.#lastCheck = now;
    if (this.#hasNews) this.#lastNews = now;
    this.#hasNews = false;
    const isSilent = order.type === "playtest_game" && now - this.#lastNews > this.#patienceMs;
    if (now <= this.#deadline && !isSilent) return;
    // A machine that gives the game too little of a processor says nothing about the game.
    const factor = this.#busy.factor(now);
    const silence = now - this.#lastNews;
    const isLate = factor > 1 && silence <= this.#patienceMs * factor;
    if (isLate && now <= this.#deadline + BUSY_MS) return;
    const since = isSilent ? this.#lastNews + this.#patienceMs : this.#deadline;
    const waited = isLate ? silence : since - (isSilent ? this.#lastNews : this.#began);
    const text = `the game did not come back within ${Math.round(waited / 1000)} s, during ${this.#phase}`;
    this.#finish(
      isLate
        ? this.#failed(order, {
            id: "late",
            text: text + busyText(factor),
            fix: "try again when less else runs on this machine",
          })
        : this.#failed(order, {
            id: "hang",
            text: `${text}: a hang leaves no stack`,
            fix: "look for a loop in create(), start() or update() that never ends",
          }),
    );
  }

  /** What the program outside does that was asked. */
  answer(answer: Answer): void {
    this.#isAsking = false;
    this.#worker?.postMessage(answer);
  }

  end(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#order = null;
  }

  #failed(order: GameOrder, failure: Failure): GameAnswer {
    switch (order.type) {
      case "check_game":
        return failedCheck(order, failure);
      case "replay_episodes":
        return failedReplay(order, this.#replays, failure.text);
      case "play_again":
        return failedPlay(order, failure.text);
      case "playtest_game":
        return {
          ...failedPlaytest(order, failure.text, (this.#lastNews - this.#began) / 1000),
          is_late: failure.id === "late",
        };
    }
  }

  #heard(news: CheckNews): void {
    this.#hasNews = true;
    switch (news.type) {
      case "phase":
        this.#phase = news.phase;
        this.#patienceMs = news.patienceMs ?? PATIENCE_MS;
        break;
      case "replayed":
        this.#replays.push(news.replay);
        break;
      case "played":
        this.#episodes.push(news.episode);
        break;
      case "drilled":
        this.#drilled.push(news.drilled);
        break;
      case "ask":
        this.#isAsking = true;
        this.#send(news);
        break;
      case "answered":
        this.#finish(news.answer);
    }
  }

  #finish(answer: GameAnswer): void {
    this.end();
    if (answer.type === "game_playtested")
      this.#send({ ...answer, episodes: this.#episodes, drilled: this.#drilled });
    else this.#send(answer);
  }
}

interface Failure {
  id: "load" | "hang" | "late";
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

/** The answer to a lease of replays of which nothing came. */
export function failedPlay({ replay_id }: PlayAgain, problem: string): PlayedAgain {
  return { type: "played_again", replay_id, blocks: [], problem };
}

/** The answer to a playtest that ended for `problem`, without what came of it before. */
export function failedPlaytest(order: PlaytestGame, problem: string, seconds: number): GamePlaytested {
  return {
    type: "game_playtested",
    playtest_id: order.playtest_id,
    episodes: [],
    drilled: [],
    description: null,
    left_out: [],
    problem,
    is_late: false,
    seconds,
  };
}
