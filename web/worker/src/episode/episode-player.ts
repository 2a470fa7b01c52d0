/** Plays a recorded episode for the eye: up to any tick of it, on from where it stands or again from its start. */

import type { EpisodeDifference } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import { ticksPerStep } from "attract/define-game";
import type { Instance } from "attract/instance";
import { noteBegins, tickByTick } from "attract/page/play";
import { YIELD_MS } from "../rollout/yielding.ts";
import { EpisodePlay, type EpisodePlayOptions } from "./episode-play.ts";
import type { EpisodeScript } from "./episode-script.ts";

/** A policy that is asked what it would choose, without effect on the play. */
export interface Adviser {
  /** Whether it has to see every step. */
  hasMemory: boolean;
  /** @param begins see `Controller.choose`. */
  decide(instance: Instance, begins: Uint8Array): Promise<unknown>;
}

export interface EpisodePlayerOptions extends Pick<EpisodePlayOptions, "definition" | "preloaded"> {
  script: EpisodeScript;
  yieldTurn(): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Called once, with the first difference; the play continues. */
  onDiffers(difference: EpisodeDifference): void;
  /** It has reached the asked second, or the game's end before that; `seconds` as asked. */
  onArrived(seconds: number): void;
  /** Something else than the game failed; the play has stopped. */
  onError(error: unknown): void;
}

/** Owned by one stage. */
export class EpisodePlayer {
  readonly #options: EpisodePlayerOptions;
  /** Tick by tick, so that what is seen moves smoothly. */
  readonly #definition: GameDefinition;
  readonly #stepTicks: number;
  /** Another one after each start. */
  #play: EpisodePlay;
  /** The target, as asked and in ticks. */
  #seconds = 0;
  #target = 0;
  #hasBegun = false;
  /** Whether `instance` was started before. */
  #isUsed = false;
  #isRunning = false;
  #isDifferent = false;
  #adviser: Adviser | null = null;
  /** The step that the adviser was asked about last. */
  #advisedStep = -1;
  readonly #begins: Uint8Array;

  /** A player at the start of the episode, which has not begun. Raises ConfigurationError, GameError. */
  constructor(options: EpisodePlayerOptions) {
    const { definition } = options;
    const { tickSeconds, secondsPerStep = tickSeconds, numAgents = 1 } = definition;
    this.#options = options;
    this.#stepTicks = ticksPerStep(tickSeconds, secondsPerStep);
    this.#definition = tickByTick(definition);
    this.#begins = new Uint8Array(numAgents);
    this.#play = this.#createPlay();
  }

  /** Another one after each start. */
  get instance(): Instance {
    return this.#play.instance;
  }

  /** Whether it has not arrived yet. */
  get isBehind(): boolean {
    return this.#isRunning;
  }

  /** The step under way or, between two steps, the next; the last one at the end. */
  get step(): number {
    return Math.min(Math.floor(this.#play.calls / this.#stepTicks), this.#options.script.numSteps - 1);
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
    this.#target = Math.max(0, Math.min(ticks, this.#options.script.numSteps * this.#stepTicks));
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
        if (!this.#hasBegun || this.#target < this.#play.calls) await this.#begin();
        else if (this.#isUnadvised()) await this.#ask();
        else if (this.#play.isOver || this.#play.calls >= this.#target) break;
        else {
          const ahead = this.#play.advance();
          if (ahead !== null) await ahead;
          this.#noteTick();
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

  async #begin(): Promise<void> {
    if (this.#isUsed) {
      this.instance.game.dispose?.();
      this.#play = this.#createPlay();
    }
    this.#isUsed = this.#hasBegun = true;
    this.#advisedStep = -1;
    await this.#play.begin();
    this.#compare();
  }

  #noteTick(): void {
    const { calls, isOver } = this.#play;
    if (isOver || calls % this.#stepTicks === 0) this.#compare();
  }

  #compare(): void {
    if (this.#isDifferent) return;
    const difference = this.#play.difference();
    if (difference === null) return;
    this.#isDifferent = true;
    this.#options.onDiffers(difference);
  }

  /** Without a memory, only what is about to be seen is asked about. */
  #isUnadvised(): boolean {
    const { calls, isAtEnd } = this.#play;
    if (this.#adviser === null || isAtEnd || this.isAdvised || calls % this.#stepTicks !== 0) return false;
    return this.#adviser.hasMemory || this.#target - calls <= this.#stepTicks;
  }

  async #ask(): Promise<void> {
    const asked = this.step;
    noteBegins(this.#begins, this.instance);
    await this.#adviser?.decide(this.instance, this.#begins);
    this.#advisedStep = asked;
  }

  #createPlay(): EpisodePlay {
    const { script, preloaded } = this.#options;
    return new EpisodePlay(script, {
      definition: this.#definition,
      preloaded,
      callsPerStep: this.#stepTicks,
    });
  }
}
