/** Plays one episode of a playtest, as the rollout loop plays: what came of it, its alarms, and its record. */

import type { EpisodeError, PlaytestAlarm, PlaytestEpisode, PlaytestGame } from "@attract/schema";
import type { Instance } from "attract/instance";
import { methodSource } from "attract/method-source";
import type { EpisodeTape } from "../../worker/src/episode/episode-tape.ts";
import { metricsOf } from "../../worker/src/game/episode-result.ts";
import { episodeError, isGameError, NOWHERE, reportOf } from "../../worker/src/game/failures.ts";
import { isLate, LateError } from "../../worker/src/page/page-frame.ts";
import { type EpisodeAlarms, type HeardError, NOT_AGAIN } from "./alarms.ts";
import type { ClaimWatch } from "./claim-watch.ts";
import type { GameCopies } from "./game-copies.ts";
import type { InfoWatch } from "./info-watch.ts";
import type { Player } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";
import type { ThreadErrors } from "./thread-errors.ts";

/** Steps between two turns of the event loop: a number of steps, not a time, so that promises are where they were. */
const YIELD_STEPS = 128;
/** Steps between two looks at the clock. */
const LOOK_STEPS = 16;
/** Most steps of an episode: `MAX_STEPS` of the server. */
const MAX_STEPS = 1 << 20;

export type EpisodeTerms = Pick<PlaytestGame, "seed" | "parameters" | "max_steps" | "record" | "game">;

/** What the episodes of one playtest share. */
export interface EpisodeTable {
  copies: GameCopies;
  actions: PlayerActions;
  alarms: EpisodeAlarms;
  tape: EpisodeTape;
  errors: ThreadErrors;
  /** Errors heard while the module was loaded: every episode reports them. */
  ofLoading: readonly HeardError[];
  watch: InfoWatch;
  /** Null: nothing is claimed. */
  claim: ClaimWatch | null;
  yieldTurn(): Promise<void>;
  now(): number;
  /** The game's `start` has come back. */
  started(): void;
  /** Asked now and then while it plays; false: the episode is given up. */
  goesOn(step: number): boolean;
}

export type Played = Omit<PlaytestEpisode, "play" | "index">;

/** Null where it was given up. Rejects with whatever else than a game's error was thrown, and where something did not come in time. */
export async function playEpisode(
  player: Player,
  index: number,
  terms: EpisodeTerms,
  table: EpisodeTable,
): Promise<Played | null> {
  const { copies, alarms, errors } = table;
  const began = table.now();
  alarms.begin();
  // What came between the episodes is of none.
  errors.take();
  let instance: Instance;
  try {
    instance = await copies.take(index);
  } catch (error) {
    if (!isGameError(error)) throw error;
    return uncreated(error, table, began);
  }
  let isWhole = false;
  let unbegun: Omit<Played, "play_seconds">;
  try {
    const episode = new Episode(player, index, terms, table, instance);
    const played = await episode.play();
    isWhole = played !== null && !episode.isStained;
    if (played === null || !episode.isUnbegun)
      return played === null ? null : { ...played, play_seconds: (table.now() - began) / 1000 };
    unbegun = played;
  } finally {
    copies.giveBack(instance, isWhole);
  }
  // The used page was at fault: in a new one the episode is as any other.
  const fresh = await playEpisode(player, index, terms, table);
  if (fresh === null || fresh.alarms.length > 0) return fresh;
  return { ...fresh, alarms: unbegun.alarms, recorded: unbegun.recorded };
}

class Episode {
  readonly #player: Player;
  readonly #index: number;
  readonly #terms: EpisodeTerms;
  readonly #table: EpisodeTable;
  readonly #instance: Instance;
  #error: EpisodeError | null = null;
  #numOfLoading = 0;
  #isStarted = false;
  /** The episode before, where it is that one which shows why this one does not begin. */
  #shown: PlaytestEpisode["recorded"] = null;

  constructor(player: Player, index: number, terms: EpisodeTerms, table: EpisodeTable, instance: Instance) {
    this.#player = player;
    this.#index = index;
    this.#terms = terms;
    this.#table = table;
    this.#instance = instance;
  }

  /** Whether something went wrong in it: the next one begins in a fresh page. */
  get isStained(): boolean {
    return this.#table.alarms.all.length > this.#numOfLoading;
  }

  /** Whether the page that it was to begin in is at fault, by what the episode before left there. */
  get isUnbegun(): boolean {
    return this.#shown !== null;
  }

  async play(): Promise<Omit<Played, "play_seconds"> | null> {
    const { alarms, copies, watch, claim, yieldTurn, now } = this.#table;
    let isWhole = true;
    claim?.begin();
    watch.begin(this.#instance.game);
    try {
      isWhole = await this.#steps();
    } catch (thrown) {
      watch.end();
      this.#fail(thrown);
    } finally {
      watch.end();
    }
    if (!isWhole) return null;
    // The browser reports rejections in the turns that follow.
    await yieldTurn();
    await copies.settle(yieldTurn, now);
    this.#look();
    if (alarms.all.length > 0 && copies.isUnsettled)
      throw new LateError("what the page asked for was not there in time, and it went on without");
    const instance = this.#instance;
    const error = this.#error;
    const isFailed = error !== null;
    const isOver = instance.episodeOver && instance.endReason !== null;
    if (!isFailed) copies.ended(() => this.#recorded());
    return {
      episode_return: mean(instance.episodeReturns),
      num_steps: instance.episodeSteps + (isFailed && error.tick > 0 ? 1 : 0),
      num_ticks: isFailed ? error.tick : instance.episodeTicks,
      end_reason: isFailed ? "failed" : isOver ? (instance.endReason ?? "stopped") : "stopped",
      info: metricsOf(instance),
      alarms: alarms.all,
      recorded: this.#shown ?? (this.#isRecorded ? this.#recorded() : null),
      claim: claim?.result ?? null,
    };
  }

  get #isRecorded(): boolean {
    const { alarms, claim } = this.#table;
    return this.#terms.record || alarms.all.length > 0 || claim?.hasHeld === true;
  }

  /** Whether it came to its end. */
  async #steps(): Promise<boolean> {
    const { copies, actions, tape, errors, watch, claim, yieldTurn, started, goesOn } = this.#table;
    const instance = this.#instance;
    const player = this.#player;
    const { recorded } = player;
    const seed = recorded?.seed ?? this.#terms.seed;
    const number = recorded?.episode ?? 0;
    const parameters = recorded?.parameters ?? this.#terms.parameters;
    instance.setStream(seed.low, seed.high, recorded?.instance ?? this.#index);
    player.begin(this.#index);
    tape.begin(parameters);
    try {
      const begun = instance.begin(number, parameters);
      if (begun !== null) await begun;
    } finally {
      this.#heardInLoading();
    }
    this.#isStarted = true;
    started();
    const maxSteps = this.#terms.max_steps ?? MAX_STEPS;
    for (let step = 0; !instance.episodeOver && step < maxSteps; step++) {
      if (player.think !== undefined) await player.think(instance, actions);
      if (!player.act(instance, step, actions)) break;
      tape.add(instance, actions.row, 0);
      const taken = instance.take(actions.ofGame);
      if (taken !== null) await taken;
      if (errors.hasAny || copies.hasErrors) this.#look();
      if (watch.name !== null) this.#reportInfo(watch.name);
      if (claim?.holds(copies.window ?? instance.game, step)) break;
      if (step % LOOK_STEPS === LOOK_STEPS - 1 && !goesOn(step)) return false;
      if (step % YIELD_STEPS === YIELD_STEPS - 1) await yieldTurn();
    }
    return true;
  }

  #heardInLoading(): void {
    const { copies, alarms, ofLoading } = this.#table;
    for (const heard of [...ofLoading, ...copies.ofLoading]) alarms.add("error", heard, { step: 0, tick: 0 });
    this.#numOfLoading = alarms.all.length;
  }

  /** Takes in what was heard since the last look. */
  #look(): void {
    const { copies, alarms, errors } = this.#table;
    const { episodeSteps, currentTick } = this.#instance;
    const place = { step: Math.max(0, episodeSteps - 1), tick: currentTick };
    for (const heard of [...errors.take(), ...copies.takeErrors()]) alarms.add("error", heard, place);
  }

  /** Once in an episode. */
  #reportInfo(name: string): void {
    const { alarms, watch } = this.#table;
    const { game, episodeSteps, currentTick } = this.#instance;
    watch.end();
    watch.name = null;
    const isPage = this.#table.copies.definition.page !== undefined;
    const text = `${isPage ? `${name} is` : `update() returned info.${name} =`} NaN, expected a finite number`;
    const place = { step: episodeSteps - 1, tick: currentTick };
    alarms.add("nan", { text, stack: null }, place, this.#sourceOf(methodSource(game, "update", "info")));
  }

  /** A page's methods are those of its adapter's player. */
  #sourceOf(method: PlaytestAlarm["method"]): PlaytestAlarm["method"] {
    return this.#table.copies.definition.page === undefined ? method : null;
  }

  #fail(thrown: unknown): void {
    if (isLate(thrown)) throw thrown;
    const { alarms, actions, copies } = this.#table;
    const instance = this.#instance;
    this.#error = episodeError(thrown, instance);
    const failed = { definition: copies.definition, instance, action: actions.ofGame };
    const { kind, text, stack, method } = reportOf(thrown, NOWHERE, undefined, failed);
    if (!this.#isStarted && copies.before !== null) {
      // It is the restart that fails, and not this episode: in a new page that begins.
      this.#shown = copies.before;
      const heard = { text: `${NOT_AGAIN}: ${text}`, stack };
      alarms.add("retry-broken", heard, { step: this.#shown.num_steps, tick: 0 });
      return;
    }
    const place = { step: instance.episodeSteps, tick: this.#error.tick };
    alarms.add(kind === "nan" ? "nan" : "error", { text, stack }, place, this.#sourceOf(method));
  }

  #recorded(): PlaytestEpisode["recorded"] {
    const { tape, actions } = this.#table;
    const instance = this.#instance;
    const { recorded, seat } = this.#player;
    const terms = {
      run_id: null,
      seed: recorded?.seed ?? this.#terms.seed,
      lesson_id: null,
      seats: recorded?.seats ?? Array.from({ length: actions.numAgents }, () => seat),
    };
    const reason = instance.episodeOver ? instance.endReason : null;
    const episode = tape.recorded(instance, terms, reason, this.#error);
    return episode === null ? null : { ...episode, game_sha256: this.#terms.game.sha256 };
  }
}

/** The game's `create` failed: there is nothing to record. */
function uncreated(error: Error, { alarms, now }: EpisodeTable, began: number): Played {
  const { kind, text, stack } = reportOf(error, NOWHERE);
  alarms.add(kind === "nan" ? "nan" : "error", { text, stack }, { step: 0, tick: 0 });
  return {
    episode_return: 0,
    num_steps: 0,
    num_ticks: 0,
    end_reason: "failed",
    info: {},
    play_seconds: (now() - began) / 1000,
    alarms: alarms.all,
    recorded: null,
    claim: null,
  };
}

function mean(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}
