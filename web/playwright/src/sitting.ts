/** One copy of a game under the commands of a test, in its page or in Node: it is pressed, played and read. */

import type { RecordedEpisode } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { ticksPerStep } from "attract/define-game";
import type { Instance } from "attract/instance";
import { drawn } from "attract/page/drawn";
import { made } from "attract/page/made";
import { PHASER } from "attract/page/phaser";
import { pressPointer } from "attract/page-action";
import type { PageWindow } from "attract/page-adapter";
import { type GivenInput, GivenInputs } from "../../page-probe/src/given-inputs.ts";
import { valueIn } from "../../page-probe/src/page-expression.ts";
import { EpisodeAlarms } from "../../playtest/src/alarms.ts";
import type { ClaimWatch } from "../../playtest/src/claim-watch.ts";
import { GameCopies } from "../../playtest/src/game-copies.ts";
import { idleAction, namedAction } from "../../playtest/src/held-actions.ts";
import { InfoWatch } from "../../playtest/src/info-watch.ts";
import type { Player } from "../../playtest/src/player.ts";
import { PlayerActions } from "../../playtest/src/player-actions.ts";
import { HoldingPlayer } from "../../playtest/src/scripted-players.ts";
import { consoleText } from "../../worker/src/game/console-relay.ts";
import { isGameError, NOWHERE, reportOf } from "../../worker/src/game/failures.ts";
import { isLate } from "../../worker/src/page/page-frame.ts";
import { Yielder } from "../../worker/src/rollout/yielding.ts";
import type { Played } from "./types.ts";

/** Steps or frames between two turns of the event loop: a number, not a time, so that promises are where they were. */
const YIELD_STEPS = 128;

export type EpisodeTerms = Pick<RecordedEpisode, "seed" | "instance" | "episode" | "parameters">;

export interface SittingOptions {
  /** Below which address the page is; without one the game is a module. */
  base?: string;
  /** Whether what the page draws is there to be seen. Default: no. */
  draws?: boolean;
  /** Whether `made` and `drawn` follow the page from its first script. Default: no. */
  isRead?: boolean;
}

/** Owned by one fixture, or by one replay. */
export class Sitting {
  readonly definition: GameDefinition;
  readonly #alarms = new EpisodeAlarms();
  readonly #copies: GameCopies;
  readonly #actions: PlayerActions;
  readonly #watch: InfoWatch;
  readonly #yielder = new Yielder();
  #restoreConsole = (): void => {};
  #instance: Instance | null = null;
  /** Whether frames passed since the game was observed. */
  #isStale = false;

  constructor(game: GameDefinition, { isRead = false, ...pages }: SittingOptions) {
    this.#actions = new PlayerActions(game);
    this.#copies = new GameCopies(isRead ? read(game) : game, 1, this.#actions.masks, pages);
    this.definition = this.#copies.definition;
    this.#watch = new InfoWatch(this.definition);
    if (game.page === undefined) this.#hearConsole();
  }

  get actions(): PlayerActions {
    return this.#actions;
  }

  /** Of the page; null: the game is a module. */
  get window(): PageWindow | null {
    return this.#copies.window;
  }

  get instance(): Instance {
    if (this.#instance === null) throw new Error("no episode has begun");
    return this.#instance;
  }

  /** Texts of what was heard of errors, once each. */
  get errors(): string[] {
    return this.#alarms.all.map(({ text }) => text);
  }

  /** Begins an episode in a fresh copy. Rejects with what the game threw. */
  async begin({ seed, instance: stream, episode, parameters }: EpisodeTerms): Promise<void> {
    if (this.#instance !== null) this.#copies.giveBack(this.#instance, false);
    this.#instance = null;
    this.#instance = await this.#copies.take(0);
    const { instance } = this;
    this.#isStale = false;
    instance.setStream(seed.low, seed.high, stream);
    try {
      await instance.begin(episode, parameters);
    } finally {
      for (const heard of this.#copies.ofLoading) this.#alarms.add("error", heard, { step: 0, tick: 0 });
      this.#look();
    }
  }

  /** @param look called before each step and after the last. */
  async play(
    player: Player,
    maxSteps: number,
    { claim, look }: { claim?: ClaimWatch; look?(instance: Instance, step: number): void } = {},
  ): Promise<Played> {
    const { instance } = this;
    let begun = instance.episodeTicks;
    let steps = 0;
    let isFailed = false;
    player.begin(0);
    this.#watch.begin(instance.game);
    try {
      if (this.#isStale) await this.#rest();
      begun = instance.episodeTicks;
      for (; steps < maxSteps && !instance.episodeOver; steps++) {
        look?.(instance, steps);
        if (!player.act(instance, steps, this.#actions)) break;
        const taken = instance.take(this.#actions.ofGame);
        if (taken !== null) await taken;
        this.#look();
        claim?.holds(this.#copies.window ?? instance.game, steps);
        if (claim?.isSettled) break;
        if (steps % YIELD_STEPS === YIELD_STEPS - 1) await this.#turn();
      }
      look?.(instance, steps);
    } catch (thrown) {
      this.#fail(thrown);
      isFailed = true;
    } finally {
      this.#watch.end();
      await this.#letGo();
    }
    const { episodeReturns, endReason } = instance;
    return {
      steps,
      seconds: (instance.episodeTicks - begun) * this.definition.tickSeconds,
      return: episodeReturns.reduce((sum, value) => sum + value, 0) / episodeReturns.length,
      ended: isFailed ? "failed" : instance.episodeOver && endReason !== "cut" ? endReason : null,
    };
  }

  /**
   * Plays `count` frames of 1/60 s; of a module as many ticks, in whole steps.
   *
   * Returns: after how many `claim` held; null: it did not. Rejects where the page cannot go on, or an input cannot be given.
   */
  async frames(inputs: readonly GivenInput[], count: number, claim?: ClaimWatch): Promise<number | null> {
    const { hands, definition } = { hands: this.#copies.hands, definition: this.definition };
    const { page, tickSeconds, secondsPerStep = tickSeconds } = definition;
    const ticks = ticksPerStep(tickSeconds, secondsPerStep);
    if (hands === null || page === undefined) {
      const [input] = inputs;
      const action = input === undefined ? idleAction(definition) : namedAction(definition, input.name);
      await this.play(new HoldingPlayer(action), Math.ceil(count / ticks), { claim });
      return claim?.hasHeld ? ((claim.result.held_at ?? 0) + 1) * ticks : null;
    }
    const given = new GivenInputs(inputs, page, ticks);
    this.#isStale = true;
    try {
      for (let tick = 0; tick < count; tick++) {
        if (hands.isReloadDue) throw new Error("the page reloads itself: game.restart() opens it again");
        const input = given.press(tick, hands.window, hands);
        for (const [{ name }, problem] of given.problems) throw new Error(`${name}: ${problem}`);
        if (input !== null) {
          hands.hold(input.keys);
          pressPointer(input.pointer ?? null, hands, input.progress ?? 0, false);
        }
        hands.tick();
        if (page.turns) await hands.giveTurn();
        this.#look();
        if (claim?.holds(hands.window, tick)) return tick + 1;
        if (claim?.isSettled) return null;
        if (tick % YIELD_STEPS === YIELD_STEPS - 1) await this.#turn();
      }
      return null;
    } catch (error) {
      throw hands.explain(error);
    } finally {
      await this.#letGo();
    }
  }

  /** What an expression is in the page; of a module `game` is what its `create` returned. Raises whatever it throws. */
  evaluate(expression: string): unknown {
    const { window } = this.#copies;
    if (window !== null) return valueIn(window, expression);
    return new Function("game", `return (${expression}\n)`)(this.instance.game);
  }

  close(): void {
    if (this.#instance !== null) this.#copies.giveBack(this.#instance, false);
    this.#copies.close();
    this.#restoreConsole();
    this.#yielder.close();
  }

  /** What a module writes to this thread's `console.error` is an error of the game. */
  #hearConsole(): void {
    const { error } = console;
    console.error = (...args: unknown[]) => {
      this.#alarms.add("error", { text: consoleText(args), stack: null }, { step: 0, tick: 0 });
      error.apply(console, args);
    };
    this.#restoreConsole = () => {
      console.error = error;
    };
  }

  /** A player that decides by what it sees is to see what is there now. */
  async #rest(): Promise<void> {
    this.#isStale = false;
    new HoldingPlayer(idleAction(this.definition)).act(this.instance, 0, this.#actions);
    await this.instance.take(this.#actions.ofGame);
  }

  async #turn(): Promise<void> {
    await this.#yielder.yield();
  }

  /** Nothing is held from one command to the next. */
  async #letGo(): Promise<void> {
    this.#copies.hands?.hold([]);
    this.#copies.hands?.lift();
    // The browser reports rejections in the turns that follow.
    await this.#turn();
    await this.#copies.settle(
      () => this.#turn(),
      () => performance.now(),
    );
    this.#look();
  }

  /** Takes in what was heard since the last look. */
  #look(): void {
    const { name } = this.#watch;
    if (name !== null) {
      this.#watch.name = null;
      this.#watch.end();
      this.#alarm("nan", `${name} is NaN, expected a finite number`);
    }
    if (this.#copies.hasErrors)
      for (const { text, stack } of this.#copies.takeErrors()) this.#alarm("error", text, stack);
  }

  #fail(thrown: unknown): void {
    if (isLate(thrown) || !isGameError(thrown)) throw thrown;
    const { kind, text, stack } = reportOf(thrown, NOWHERE);
    this.#look();
    this.#alarm(kind === "nan" ? "nan" : "error", text, stack);
  }

  #alarm(oracle: "error" | "nan", text: string, stack: string | null = null): void {
    const { episodeSteps, currentTick } = this.instance;
    this.#alarms.add(oracle, { text, stack }, { step: episodeSteps, tick: currentTick });
  }
}

/** Adapters begin to follow what they read before the page's first script. */
function read(game: GameDefinition): GameDefinition {
  const { page } = game;
  if (page === undefined) return game;
  const prepare: typeof page.prepare = (window, parameters) => {
    drawn(window);
    made(window, PHASER);
    page.prepare?.(window, parameters);
  };
  return { ...game, page: { ...page, prepare } };
}
