/** Plays a recorded episode for the eye: up to any tick of it, on from where it stands or again from its start. */

import type { EpisodeDifference, EpisodeError } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import { ticksPerStep } from "attract/define-game";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { tickByTick } from "attract/page/play";
import { episodeError } from "../game/failures.ts";
import type { PreloadedGames } from "../page/preloaded-games.ts";
import { YIELD_MS } from "../rollout/yielding.ts";
import type { EpisodeScript } from "./episode-script.ts";

/** A policy that is asked what it would choose; what it says changes nothing. */
export interface Adviser {
  /** Whether it has to see every step. */
  hasMemory: boolean;
  /** @param begins see `Controller.choose`. */
  decide(instance: Instance, begins: Uint8Array): Promise<unknown>;
}

export interface EpisodePlayerOptions {
  definition: GameDefinition;
  script: EpisodeScript;
  /** As in `ReplayEpisodeOptions`. */
  preloaded?: PreloadedGames | null;
  yieldTurn(): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Called once, with the first difference; the play goes on. */
  onDiffers(difference: EpisodeDifference): void;
  /** It stands where it was told to go, or at the game's end before that; `seconds` as it was told. */
  onArrived(seconds: number): void;
  /** Something else than the game failed; nothing moves any more. */
  onError(error: unknown): void;
}

/** Owned by one stage. */
export class EpisodePlayer {
  /** Another one after each start. */
  instance: Instance;
  readonly #options: EpisodePlayerOptions;
  readonly #stepTicks: number;
  readonly #numTicks: number;
  /** Where to, as it was told and in ticks. */
  #seconds = 0;
  #target = 0;
  /** Ticks played. */
  #ticks = 0;
  #hasBegun = false;
  /** Whether `instance` was started before. */
  #isUsed = false;
  #isRunning = false;
  /** Neither the game nor what runs it can go on from here. */
  #isOver = false;
  #isDifferent = false;
  #action: Action | readonly Action[] = 0;
  #adviser: Adviser | null = null;
  /** The step that the adviser was asked about last. */
  #advisedStep = -1;
  readonly #begins: Uint8Array;

  /** A player at the start of the episode, which has not begun. Raises ConfigurationError, GameError. */
  constructor(options: EpisodePlayerOptions) {
    const { definition, script } = options;
    const { tickSeconds, secondsPerStep = tickSeconds, numAgents = 1 } = definition;
    this.#options = options;
    this.#stepTicks = ticksPerStep(tickSeconds, secondsPerStep);
    this.#numTicks = script.numSteps * this.#stepTicks;
    this.#begins = new Uint8Array(numAgents);
    this.instance = this.#createInstance();
  }

  /** Whether it has not arrived yet. */
  get isBehind(): boolean {
    return this.#isRunning;
  }

  /** The step under way or, between two steps, the next; the last one at the end. */
  get step(): number {
    return Math.min(Math.floor(this.#ticks / this.#stepTicks), this.#options.script.numSteps - 1);
  }

  /** Whether the adviser was asked about `step`. */
  get isAdvised(): boolean {
    return this.#advisedStep === this.step;
  }

  /** What is done in `step`; undefined in an episode without steps. */
  get action(): Action | readonly Action[] | undefined {
    const { script } = this.#options;
    return script.numSteps === 0 ? undefined : script.action(this.step, this.instance);
  }

  /** Goes to `seconds` of game time; a later call replaces the target. */
  go(seconds: number): void {
    this.#seconds = seconds;
    const ticks = Math.floor(seconds / this.#options.definition.tickSeconds + 1e-6);
    this.#target = Math.max(0, Math.min(ticks, this.#numTicks));
    void this.#run();
  }

  /** Asks this policy about each step from now on. */
  advise(adviser: Adviser): void {
    this.#adviser = adviser;
    this.#advisedStep = -1;
    // What it would remember happened before it came.
    if (adviser.hasMemory) this.#hasBegun = false;
    void this.#run();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { now, yieldTurn } = this.#options;
    let lastYield = now();
    try {
      // Each turn looks at the target anew: it may have changed while something was waited for.
      for (;;) {
        if (!this.#hasBegun || this.#target < this.#ticks) await this.#begin();
        else if (this.#isUnadvised()) await this.#ask();
        else if (this.#isOver || this.#ticks >= this.#target) break;
        else {
          const ahead = this.#tick();
          if (ahead !== null) await ahead;
          if (now() - lastYield >= YIELD_MS) {
            await yieldTurn();
            lastYield = now();
          }
        }
      }
    } catch (error) {
      this.#options.onError(error);
      return;
    }
    this.#isRunning = false;
    this.#options.onArrived(this.#seconds);
  }

  /** As a replay without pictures begins: a fresh copy of the game. */
  async #begin(): Promise<void> {
    const { script, preloaded = null } = this.#options;
    const { seed, instance: stream, episode, parameters } = script.episode;
    if (this.#isUsed) {
      this.instance.game.dispose?.();
      const waiting = preloaded?.preload() ?? null;
      if (waiting !== null) await waiting;
      this.instance = this.#createInstance();
    }
    this.#isUsed = this.#hasBegun = true;
    this.#isOver = false;
    this.#ticks = 0;
    this.#advisedStep = -1;
    this.#begins.fill(1);
    const { instance } = this;
    instance.setStream(seed.low, seed.high, stream);
    try {
      const starting = instance.startAhead(episode, parameters);
      if (starting !== null) await starting;
      instance.start(episode, parameters);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#compare(null);
  }

  /** Plays a tick; a promise where that has to be waited for. */
  #tick(): Promise<void> | null {
    const { instance } = this;
    if (this.#ticks % this.#stepTicks === 0) this.#action = this.#options.script.action(this.step, instance);
    try {
      const ahead = instance.stepAhead(this.#action as Action);
      if (ahead !== null) return ahead.then(this.#finishTick, (error) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
      return null;
    }
    this.#finishTick();
    return null;
  }

  readonly #finishTick = (): void => {
    const { instance } = this;
    try {
      instance.step(this.#action as Action);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#ticks++;
    this.#isOver = instance.episodeOver;
    for (let agent = 0; agent < this.#begins.length; agent++)
      if (instance.terminated[agent] === 1 || instance.truncated[agent] === 1) this.#begins[agent] = 1;
    if (this.#isOver || this.#ticks % this.#stepTicks === 0) this.#compare(null);
  };

  #fail(error: unknown): void {
    this.#isOver = true;
    this.#compare(episodeError(error, this.instance));
  }

  #compare(error: EpisodeError | null): void {
    if (this.#isDifferent) return;
    const { script, onDiffers } = this.#options;
    const isEnd = this.#isOver || this.#ticks === this.#numTicks;
    // A step that failed was not taken.
    const steps = this.#ticks / this.#stepTicks;
    const outcome = {
      episodeSteps: error === null ? Math.ceil(steps) : Math.floor(steps),
      episodeOver: this.instance.episodeOver,
      endReason: this.instance.endReason,
      episodeReturns: this.instance.episodeReturns,
    };
    const difference = isEnd ? script.endDifference(outcome, error) : script.difference(steps, this.instance);
    if (difference === null) return;
    this.#isDifferent = true;
    onDiffers(difference);
  }

  /** Without a memory, only what is about to be seen is asked about. */
  #isUnadvised(): boolean {
    if (this.#adviser === null || this.#isOver || this.isAdvised) return false;
    if (this.#ticks % this.#stepTicks !== 0 || this.#ticks === this.#numTicks) return false;
    return this.#adviser.hasMemory || this.#target - this.#ticks <= this.#stepTicks;
  }

  async #ask(): Promise<void> {
    const asked = this.step;
    const deciding = this.#adviser?.decide(this.instance, this.#begins.slice());
    this.#begins.fill(0);
    await deciding;
    this.#advisedStep = asked;
  }

  #createInstance(): Instance {
    // Tick by tick, so that what is seen moves smoothly.
    return createInstance(tickByTick(this.#options.definition), { callsPerStep: this.#stepTicks });
  }
}
