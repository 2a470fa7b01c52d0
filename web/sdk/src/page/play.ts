/** Hosts one instance of a game on a page, in the game's own time: for watching an agent and for playing by hand. */

import type { Action, GameDefinition } from "../contract.ts";
import { maxSteps, ticksPerStep } from "../define-game.ts";
import { createInstance } from "../group-instance.ts";
import type { Instance } from "../instance.ts";
import { isPromise } from "../results.ts";
import { type ActionSpace, maskGroups } from "../spaces.ts";

/** An action, or in a game of several agents one for each. */
export type Choice = Action | ArrayLike<Action>;

/** Chooses actions; a promise makes the game wait for it, as a policy in a worker or an ONNX session does. */
export interface Controller {
  /**
   * @param begins per agent, 1 when a new trajectory of it begins with this decision: a policy with a memory forgets. To be
   * read before anything is awaited.
   */
  choose(instance: Instance, begins: Uint8Array): Choice | Promise<Choice>;
}

/** `one` plays `agent`, `others` the rest; what `others` chooses for that agent is not used. */
export function beside(one: Controller, others: Controller, agent = 0): Controller {
  const combine = (own: Choice, rest: Choice): Choice => {
    const all = Array.from(rest as ArrayLike<Action>);
    all[agent] = own as Action;
    return all;
  };
  return {
    choose(instance, begins) {
      const own = one.choose(instance, begins);
      const rest = others.choose(instance, begins);
      if (!isPromise(own) && !isPromise(rest)) return combine(own, rest);
      return Promise.all([own, rest]).then(([mine, theirs]) => combine(mine, theirs));
    },
  };
}

export interface PlayerOptions {
  definition: GameDefinition;
  canvas: Pick<HTMLCanvasElement, "width" | "height" | "getContext">;
  controller: Controller;
  /** 32 bits; the first episode is number 0 of this seed. Default 0. */
  seed?: number;
  /** Fixed values, or a function that gives those of each episode, as a curriculum does. Left out: the game's defaults. */
  parameters?:
    | Readonly<Record<string, number>>
    | ((episode: number) => Readonly<Record<string, number>> | undefined);
  /** Called with what is held for the next step, masks applied; of several agents with one action for each. */
  onChoice?: (choice: Choice, instance: Instance) => void;
  /** Called at each episode's end; the next one begins with the following frame. */
  onEpisodeEnd?: (instance: Instance) => void;
  /** The game or the controller failed; the player has stopped. */
  onError: (error: unknown) => void;
  /** The game could not draw itself; it continues undrawn until the next episode. Left out: treated as any failure. */
  onDrawError?: (error: unknown) => void;
  /** Default: the page's own. The callback gets milliseconds. */
  requestFrame?: (callback: (now: number) => void) => number;
  cancelFrame?: (handle: number) => void;
}

export interface Player {
  readonly instance: Instance;
  /** Simulated seconds per real second; default 1. */
  speed: number;
  start(): void;
  stop(): void;
}

/** Ticks caught up in one frame at most: after a pause the game continues where it was instead of racing. */
const MAX_TICKS_PER_FRAME = 240;
/** Real time one frame may stand for, in milliseconds. */
const LONGEST_FRAME_MS = 100;

/** A player that is not started yet. Raises ConfigurationError, GameError. */
export function createPlayer(options: PlayerOptions): Player {
  return new FramePlayer(options);
}

class FramePlayer implements Player {
  readonly instance: Instance;
  speed = 1;
  readonly #options: PlayerOptions;
  readonly #ticksPerStep: number;
  readonly #tickMs: number;
  readonly #request: (callback: (now: number) => void) => number;
  readonly #cancel: (handle: number) => void;
  #handle: number | null = null;
  #lastNow: number | null = null;
  #owedMs = 0;
  #action: Choice = 0;
  /** See `Controller.choose`. */
  readonly #begins: Uint8Array;
  /** Ticks left of the current step; 0 means that an action is to be chosen. */
  #ticksLeft = 0;
  #isWaiting = false;
  #episode = 0;
  #isDrawn = true;

  constructor(options: PlayerOptions) {
    const { definition } = options;
    const { tickSeconds } = definition;
    this.#options = options;
    this.#ticksPerStep = ticksPerStep(tickSeconds, definition.secondsPerStep ?? tickSeconds);
    this.#tickMs = tickSeconds * 1000;
    this.#request = options.requestFrame ?? ((callback) => requestAnimationFrame(callback));
    this.#cancel = options.cancelFrame ?? ((handle) => cancelAnimationFrame(handle));
    // Stepped tick by tick, so that what is seen moves smoothly; the player itself holds each action for a whole step.
    this.instance = createInstance(tickByTick(definition), {
      seedLow: options.seed ?? 0,
      callsPerStep: this.#ticksPerStep,
    });
    this.#begins = new Uint8Array(this.instance.numAgents);
    this.#begin(0);
  }

  start(): void {
    if (this.#handle !== null) return;
    this.#lastNow = null;
    this.#handle = this.#request(this.#onFrame);
  }

  stop(): void {
    if (this.#handle !== null) this.#cancel(this.#handle);
    this.#handle = null;
  }

  readonly #onFrame = (now: number): void => {
    this.#handle = this.#request(this.#onFrame);
    const elapsed = this.#lastNow === null ? 0 : Math.min(now - this.#lastNow, LONGEST_FRAME_MS);
    this.#lastNow = now;
    try {
      this.#advance(elapsed * this.speed);
      this.#draw();
    } catch (error) {
      this.#fail(error);
    }
  };

  #advance(milliseconds: number): void {
    if (this.#isWaiting) return;
    this.#owedMs = Math.min(this.#owedMs + milliseconds, MAX_TICKS_PER_FRAME * this.#tickMs);
    if (this.instance.episodeOver) {
      // No time has passed since the end, or since a `start` after it.
      if (milliseconds <= 0) return;
      this.#begin(this.#episode + 1);
      if (this.#isWaiting) return;
    }
    while (this.#owedMs >= this.#tickMs && !this.instance.episodeOver) {
      if (this.#ticksLeft === 0) this.#choose();
      else this.#tick();
      if (this.#isWaiting) return;
    }
    this.#noteEnd();
  }

  #noteEnd(): void {
    if (!this.instance.episodeOver) return;
    this.#owedMs = 0;
    this.#options.onEpisodeEnd?.(this.instance);
  }

  /** Nothing moves until `waiting` has resolved. */
  #wait<T>(waiting: Promise<T>, goOn: (value: T) => void): void {
    this.#isWaiting = true;
    const fail = (error: unknown): void => this.#fail(error);
    const done = (value: T): void => {
      this.#isWaiting = false;
      goOn(value);
    };
    waiting.then(done, fail).catch(fail);
  }

  #choose(): void {
    noteBegins(this.#begins, this.instance);
    const choice = this.#options.controller.choose(this.instance, this.#begins);
    if (!isPromise(choice)) this.#hold(choice);
    else
      this.#wait(choice, (chosen) => {
        this.#hold(chosen);
        this.#goOn();
      });
  }

  #tick(): void {
    this.#ticksLeft--;
    this.#owedMs -= this.#tickMs;
    const taken = this.instance.take(this.#action);
    if (taken !== null) this.#wait(taken, () => this.#goOn());
  }

  /** Plays what is still owed of this frame, so that a waiting controller is no limit of one step per frame. */
  #goOn(): void {
    if (!this.instance.episodeOver && this.#handle !== null) this.#advance(0);
    // One that was cut meanwhile has not come to its end.
    else if (this.instance.endReason !== "cut") this.#noteEnd();
  }

  #hold(choice: Choice): void {
    this.#action = this.#options.definition.actionMask === true ? this.#allowed(choice) : choice;
    this.#options.onChoice?.(this.#action, this.instance);
    this.#ticksLeft = this.#ticksPerStep;
  }

  /** A hand may press what the mask forbids, which the game need not be ready for: the first allowed one is taken instead. */
  #allowed(choice: Choice): Choice {
    const { numAgents, masks, active } = this.instance;
    const { action: space } = this.#options.definition;
    if (numAgents === 1) return allowedAction(space, masks[0], choice as Action);
    return Array.from(choice as ArrayLike<Action>, (action, agent) =>
      active[agent] === 1 ? allowedAction(space, masks[agent], action) : action,
    );
  }

  #begin(episode: number): void {
    this.#episode = episode;
    this.#ticksLeft = 0;
    this.#isDrawn = true;
    const { parameters } = this.#options;
    const drawn = typeof parameters === "function" ? parameters(episode) : parameters;
    const begun = this.instance.begin(episode, drawn);
    if (begun !== null) this.#wait(begun, () => undefined);
  }

  #draw(): void {
    const { canvas, onDrawError } = this.#options;
    if (!this.#isDrawn) return;
    try {
      drawGame(this.instance, canvas);
    } catch (error) {
      if (onDrawError === undefined) throw error;
      this.#isDrawn = false;
      onDrawError(error);
    }
  }

  #fail(error: unknown): void {
    this.stop();
    this.#options.onError(error);
  }
}

/** Draws the game as it stands. Raises what its `draw` throws. */
export function drawGame({ game }: Instance, canvas: PlayerOptions["canvas"]): void {
  const { width, height } = canvas;
  // A canvas that is folded away for a moment has no size, and a game need not be ready for that.
  const context = width === 0 || height === 0 ? null : canvas.getContext("2d");
  if (context === null) return;
  context.clearRect(0, 0, width, height);
  game.draw?.(context as CanvasRenderingContext2D, width, height);
}

/** `action`, each of its components exchanged for the first allowed one where `mask` forbids it. */
export function allowedAction(space: ActionSpace, mask: Uint8Array, action: Action): Action {
  const components = typeof action === "number" ? [action] : Array.from(action);
  let from = 0;
  for (const [c, n] of maskGroups(space).entries()) {
    if (mask[from + components[c]] !== 1) components[c] = mask.subarray(from, from + n).indexOf(1);
    from += n;
  }
  return typeof action === "number" ? components[0] : components;
}

/** The same game with steps of one tick, and the time limit where the whole steps of training reach it. */
export function tickByTick(definition: GameDefinition): GameDefinition {
  const { tickSeconds, secondsPerStep = tickSeconds } = definition;
  const limit = maxSteps(definition);
  const timed = { ...definition, secondsPerStep: tickSeconds };
  if (limit !== null) timed.maxSeconds = limit * ticksPerStep(tickSeconds, secondsPerStep) * tickSeconds;
  return timed;
}

/** Between two steps: what `Controller.choose` is told, for each agent. */
export function noteBegins(begins: Uint8Array, { episodeSteps, terminated, truncated }: Instance): void {
  for (let agent = 0; agent < begins.length; agent++)
    begins[agent] = episodeSteps === 0 ? 1 : terminated[agent] | truncated[agent];
}
