/** Does a `playtest_game` order: its episodes in turns of a few per player, then its drills. */

import type { GamePlaytested, PlaytestGame } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { describe } from "attract/description";
import { Deadline } from "../../check/src/check-finding.ts";
import { EpisodeTape } from "../../worker/src/episode/episode-tape.ts";
import { type CheckNews, LOADING_MS } from "../../worker/src/host/game-checker.ts";
import { isLate } from "../../worker/src/page/page-frame.ts";
import type { AskOutside } from "../../worker/src/policy/outside-policy.ts";
import { Yielder } from "../../worker/src/rollout/yielding.ts";
import { EpisodeAlarms } from "./alarms.ts";
import { ClaimWatch } from "./claim-watch.ts";
import { drillGame } from "./drills.ts";
import { GameCopies } from "./game-copies.ts";
import { heldMoves } from "./held-actions.ts";
import { InfoWatch } from "./info-watch.ts";
import { type EpisodeTable, type Played, playEpisode } from "./play-episode.ts";
import type { Player } from "./player.ts";
import { PlayerActions } from "./player-actions.ts";
import { createPlayer } from "./players.ts";
import { OutsidePlayer } from "./scripted-players.ts";
import type { ThreadErrors } from "./thread-errors.ts";

/** Before the name of a program outside that plays. */
const OUTSIDE = "outside:";
/** Episodes of a player before the next one's turn. */
const TURN_EPISODES = 8;
/** An episode that is under way so long after the budget is given up. */
const OVERTIME_MS = 2_000;
/** A page that has not come back so long after it was to be looked at hangs. */
const LOOKING_MS = 10_000;
/** While it plays it says so at least so often. */
const NEWS_MS = 1_000;
/** What an answer may take in JSON, and its recorded episodes of that: a frame has 4 MiB. */
const MAX_ANSWER_CHARACTERS = 3_500_000;
const MAX_RECORDED_CHARACTERS = 2_500_000;

/**
 * @param began when the order came, on the clock of `performance.now`.
 * @param post is told each episode and drill as it ends, and what begins: if the game does not come back, that is where.
 * @param ask of programs outside.
 * @returns the answer without the episodes and drills that were posted.
 */
export async function playtestGame(
  order: PlaytestGame,
  game: GameDefinition,
  errors: ThreadErrors,
  began: number,
  post: (news: CheckNews) => void,
  ask: AskOutside,
): Promise<GamePlaytested> {
  const claim = order.claim === null ? null : await ClaimWatch.of(order.claim, game.page !== undefined);
  const watched =
    claim === null || game.page === undefined ? game : { ...game, page: claim.following(game.page) };
  const playtest = new Playtest(order, watched, claim, errors, began, post, ask);
  const problem = await playtest.run();
  const leftOut = [...playtest.leftOut];
  return {
    type: "game_playtested",
    playtest_id: order.playtest_id,
    episodes: [],
    drilled: [],
    description: describe(game) as GamePlaytested["description"],
    left_out: leftOut,
    problem,
    is_late: playtest.isLate,
    seconds: (performance.now() - began) / 1000,
  };
}

class Playtest {
  /** Players that cannot play, with the reason. */
  readonly leftOut = new Set<string>();
  /** Whether it ended for what did not come in time by the real clock. */
  isLate = false;
  readonly #order: PlaytestGame;
  readonly #game: GameDefinition;
  readonly #began: number;
  readonly #post: (news: CheckNews) => void;
  readonly #ask: AskOutside;
  readonly #actions: PlayerActions;
  readonly #table: EpisodeTable;
  readonly #problems = new Set<string>();
  #numCharacters = 0;
  #numRecorded = 0;
  #lastNews = 0;
  #phase = "";
  #episode = "";

  constructor(
    order: PlaytestGame,
    game: GameDefinition,
    claim: ClaimWatch | null,
    errors: ThreadErrors,
    began: number,
    post: (news: CheckNews) => void,
    ask: AskOutside,
  ) {
    this.#ask = ask;
    this.#order = order;
    this.#game = game;
    this.#began = began;
    this.#post = post;
    this.#actions = new PlayerActions(game);
    const yielder = new Yielder();
    const now = () => performance.now();
    this.#table = {
      copies: new GameCopies(game, order.fresh_every, this.#actions.masks),
      actions: this.#actions,
      alarms: new EpisodeAlarms(),
      tape: new EpisodeTape(game),
      errors,
      ofLoading: errors.take(),
      watch: new InfoWatch(game),
      claim,
      yieldTurn: () => yielder.yield(),
      now,
      started: () => this.#says(this.#episode),
      goesOn: (step) => this.#goesOn(now(), step),
    };
  }

  /** Why not all was played; null: it was, as far as the budget went. */
  async run(): Promise<string | null> {
    try {
      await this.#play();
    } catch (error) {
      this.isLate = isLate(error);
      this.#problems.add(`${this.#phase}: ${textOf(error)}`);
    } finally {
      this.#table.copies.close();
    }
    await this.#drill();
    return this.#problems.size === 0 ? null : [...this.#problems].join("; ");
  }

  async #play(): Promise<void> {
    const { plays } = this.#order;
    const players = new Map<string, Player | null>();
    const rounds = Math.ceil(Math.max(0, ...plays.map(({ count }) => count)) / TURN_EPISODES);
    for (let round = 0; round < rounds; round++) {
      for (const [play, { player: name, first, count }] of plays.entries()) {
        if (!players.has(name)) players.set(name, await this.#player(name));
        const end = Math.min(count, (round + 1) * TURN_EPISODES);
        for (let i = round * TURN_EPISODES; i < end; i++) {
          const player = players.get(name) ?? null;
          if (player === null) break;
          if (this.#isSpent) return;
          try {
            if (!(await this.#playOne(player, name, play, first + i))) return;
          } catch (error) {
            if (!isPolicyError(error)) throw error;
            players.set(name, null);
            this.#cannotPlay(name, error);
          }
        }
      }
    }
  }

  /** Whether no episode begins any more. */
  get #isSpent(): boolean {
    const isOver = performance.now() - this.#began >= this.#order.budget_seconds * 1000;
    return isOver || this.#table.claim?.isSettled === true || this.#numCharacters >= MAX_ANSWER_CHARACTERS;
  }

  #cannotPlay(name: string, error: unknown): void {
    this.leftOut.add(`the player ${name} cannot play: ${textOf(error)}`);
  }

  /** Null where it cannot be had: the others play all the same. */
  async #player(name: string): Promise<Player | null> {
    try {
      if (name.startsWith(OUTSIDE))
        return new OutsidePlayer(name, this.#game, this.#ask, () => this.#isSpent);
      return await createPlayer(name, this.#order, this.#game, this.#actions);
    } catch (error) {
      this.#cannotPlay(name, error);
      return null;
    }
  }

  /** False where it was given up. */
  async #playOne(player: Player, name: string, play: number, index: number): Promise<boolean> {
    this.#episode = `episode ${index} of ${name}`;
    this.#says(`the start of ${this.#episode}`, this.#game.page === undefined ? null : LOADING_MS);
    const played = await playEpisode(player, index, this.#order, this.#table);
    if (played === null) return false;
    this.#measure(played);
    this.#post({ type: "played", episode: { play, index, ...played } });
    return true;
  }

  /** Records are left out once they would not fit in the answer's frame. */
  #measure(played: Played): void {
    const recorded = played.recorded === null ? 0 : JSON.stringify(played.recorded).length;
    const rest = JSON.stringify({ ...played, recorded: null }).length;
    if (this.#numRecorded + recorded > MAX_RECORDED_CHARACTERS) played.recorded = null;
    else this.#numRecorded += recorded;
    this.#numCharacters += rest + (played.recorded === null ? 0 : recorded);
  }

  async #drill(): Promise<void> {
    for (const drill of this.#order.drills) {
      if (this.#isSpent) return;
      const until = this.#began + this.#order.budget_seconds * 1000;
      // What is looked at loads as it has before; if it hangs, that is known soon.
      const patienceMs = drill.kind === "sight" ? LOOKING_MS : LOADING_MS;
      this.#says(`the drill ${drill.kind}`, until - performance.now() + patienceMs);
      const drilled = await drillGame(drill, this.#game, {
        seed: this.#order.seed,
        parameters: this.#order.parameters,
        held: heldMoves(this.#game),
        observed: this.#order.observed,
        deadline: new Deadline(() => performance.now(), until),
        yieldTurn: this.#table.yieldTurn,
        now: this.#table.now,
      });
      this.#post({ type: "drilled", drilled });
    }
  }

  /** @param patienceMs how long the game may take until the next news; null: as long as any. */
  #says(phase: string, patienceMs: number | null = null): void {
    this.#phase = phase;
    this.#lastNews = performance.now();
    this.#post({ type: "phase", phase, ...(patienceMs === null ? {} : { patienceMs }) });
  }

  #goesOn(now: number, step: number): boolean {
    if (now - this.#began > this.#order.budget_seconds * 1000 + OVERTIME_MS) return false;
    if (now - this.#lastNews > NEWS_MS) this.#says(`step ${step} or later of ${this.#episode}`);
    return true;
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A policy that was trained on other observations or actions than the game has now. */
function isPolicyError(error: unknown): boolean {
  return error instanceof Error && error.name === "AgentError";
}
