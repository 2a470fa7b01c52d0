/** `attachAgent`: an exported policy plays in the page it was trained in, by the same keys, while no person plays. */

import { answerDialogs, forgetAlerts } from "../../../page-clock/src/dialogs.ts";
import { type Focus, realFocus } from "../../../page-clock/src/focus.ts";
import { Input } from "../../../page-clock/src/input.ts";
import type { GameDefinition, GivenAction, ObservationValue } from "../contract.ts";
import { parameterDefaults } from "../define-game.ts";
import { ConfigurationError } from "../errors.ts";
import { pressAction } from "../page-action.ts";
import type { Allowed, PageAdapter, PageHands, PageWindow } from "../page-adapter.ts";
import { besidePixels } from "../page-pixels.ts";
import { PixelReader } from "./pixel-reader.ts";

const TICKS_PER_SECOND = 60;
/** Between the end of an episode and the next. */
const PAUSE_SECONDS = 1.5;
/** Real time one frame of the page may stand for: after a pause the agent continues and does not catch up. */
const LONGEST_FRAME_SECONDS = 0.1;
/** Kept over a page's reload: the agent continues at once. */
const PLAYS_ON = "attract-plays-on";
/** What a person does. */
const BY_HAND = ["keydown", "mousedown", "pointerdown", "touchstart", "wheel"];

/** What decides: an agent of `loadAgent`, or anything like it. */
export interface Decider {
  act(observation: ObservationValue, options?: { mask?: Allowed | null }): GivenAction;
  reset(): void;
}

export interface AttachOptions {
  /** Without a person's input for so long, the agent begins to play. Default: 20; 0: at once. */
  idleSeconds?: number;
  /** Told when the agent begins or leaves off. */
  onChange?(isPlaying: boolean): void;
  /** Takes what the adapter or the agent threw; the agent has left off. Default: the console. */
  onError?(error: unknown): void;
  /** The page's window. Default: this one. */
  window?: PageWindow;
}

export interface AttachedAgent {
  readonly isPlaying: boolean;
  /** Begins now. */
  play(): void;
  /** Pauses until no person plays. */
  yield(): void;
  /** Leaves off for good. */
  detach(): void;
}

/**
 * Lets `agent` play the game of this page whenever no person does: attract mode. Any key, click or touch gives the game back.
 *
 * @param definition of `definePageGame`, for one agent. Raises ConfigurationError for another.
 */
export function attachAgent(
  definition: GameDefinition,
  agent: Decider,
  options: AttachOptions = {},
): AttachedAgent {
  const { page } = definition;
  if (page === undefined)
    throw new ConfigurationError("page", `${definition.id} is no game of definePageGame()`);
  if ((definition.numAgents ?? 1) !== 1)
    throw new ConfigurationError(
      "numAgents",
      `attachAgent() plays games of one agent, and ${definition.id} has ${definition.numAgents}`,
    );
  const ticksPerStep = Math.round((definition.secondsPerStep ?? definition.tickSeconds) * TICKS_PER_SECOND);
  return new Attached(page, ticksPerStep, parameterDefaults(definition), agent, options);
}

class Attached implements AttachedAgent, PageHands {
  isPlaying = false;
  ticks = 0;
  readonly parameters: Readonly<Record<string, number>>;
  readonly #adapter: PageAdapter;
  readonly #agent: Decider;
  readonly #ticksPerStep: number;
  readonly #options: AttachOptions;
  readonly #window: PageWindow;
  readonly #input: Input;
  readonly #pixels: PixelReader | null;
  /** Whether nothing of this episode has been seen yet. */
  #isFirst = true;
  #phase: "menu" | "playing" | "pause" = "menu";
  #action: GivenAction = 0;
  /** Gives dialogs back to the browser; null while a person answers them. */
  #freeDialogs: (() => void) | null = null;
  /** Ticks left of the current step. */
  #ticksLeft = 0;
  #owedTicks = 0;
  #idleSeconds = 0;
  #pauseSeconds = 0;
  #last: number | null = null;
  #isLoaded = false;
  #isAsked = false;
  #isReady = false;
  #isDetached = false;

  constructor(
    adapter: PageAdapter,
    ticksPerStep: number,
    parameters: Readonly<Record<string, number>>,
    agent: Decider,
    options: AttachOptions,
  ) {
    this.#adapter = adapter;
    this.parameters = parameters;
    this.#ticksPerStep = ticksPerStep;
    this.#agent = agent;
    this.#options = options;
    this.#window = options.window ?? window;
    this.#pixels = adapter.pixels === undefined ? null : new PixelReader(this.#window, adapter.pixels);
    const focus: Focus = realFocus(this.#window);
    const page = this.#window;
    this.#input = new Input(
      page,
      {
        get now() {
          return page.performance.now();
        },
      },
      focus,
      { isTouch: adapter.touch && typeof page.Touch === "function" },
    );
    for (const name of BY_HAND) page.addEventListener(name, this.#byHand, { capture: true, passive: true });
    page.addEventListener("pagehide", this.#onLeave);
    page.requestAnimationFrame(this.#onFrame);
  }

  play(): void {
    if (this.isPlaying || this.#isDetached) return;
    this.isPlaying = true;
    this.#freeDialogs = answerDialogs(this.#window);
    this.#begin();
    this.#options.onChange?.(true);
  }

  yield(): void {
    this.#idleSeconds = 0;
    if (!this.isPlaying) return;
    this.isPlaying = false;
    this.#freeDialogs?.();
    this.#freeDialogs = null;
    this.#input.release();
    this.#options.onChange?.(false);
  }

  detach(): void {
    this.yield();
    this.#isDetached = true;
    for (const name of BY_HAND) this.#window.removeEventListener(name, this.#byHand, { capture: true });
    this.#window.removeEventListener("pagehide", this.#onLeave);
  }

  get stepTick(): number {
    return this.#ticksLeft === 0 ? 0 : this.#ticksPerStep - this.#ticksLeft;
  }

  hold(codes: readonly string[]): void {
    this.#input.hold(codes);
  }

  point(...[x, y, ...how]: Parameters<PageHands["point"]>): void {
    this.#input.point([x, y], ...how);
  }

  lift(): void {
    this.#input.lift();
  }

  rotate(): void {
    // A person turns their own.
  }

  readonly #byHand = (event: Event): void => {
    if (event.isTrusted) this.yield();
  };

  readonly #onFrame = (now: number): void => {
    if (this.#isDetached) return;
    this.#window.requestAnimationFrame(this.#onFrame);
    const seconds = this.#last === null ? 0 : Math.min((now - this.#last) / 1000, LONGEST_FRAME_SECONDS);
    this.#last = now;
    try {
      this.#advance(seconds);
    } catch (error) {
      this.detach();
      (this.#options.onError ?? console.error)(error);
    }
  };

  #advance(seconds: number): void {
    const adapter = this.#adapter;
    if (!this.#isLoaded) {
      this.#isLoaded = true;
      adapter.loaded?.(this.#window);
    }
    // Asked while the page loads, as in training: what says so may not hold later on.
    this.#isReady ||= adapter.ready === undefined || Boolean(adapter.ready(this.#window));
    if (!this.#isReady) return;
    if (!this.isPlaying) {
      this.#idleSeconds += seconds;
      if (this.#playsOn() || this.#idleSeconds >= (this.#options.idleSeconds ?? 20)) this.play();
      return;
    }
    this.#owedTicks += seconds * TICKS_PER_SECOND;
    // A page is drawn at the screen's own rate: what is held changes with the game's time all the same.
    while (this.#owedTicks >= 1 && this.isPlaying) {
      this.#owedTicks--;
      this.#tick();
    }
  }

  #begin(): void {
    this.#phase = "menu";
    this.#ticksLeft = 0;
    this.#isFirst = true;
    this.ticks = 0;
    this.#input.release();
    this.#agent.reset();
    // As the trainer's clock has it forgotten.
    this.#window.attractDrawn?.forget();
    forgetAlerts(this.#window);
    this.#adapter.restart?.(this.#window, this);
  }

  /** Notes for the next page that the agent was playing, when this one is left by its own reload or by ours. */
  readonly #onLeave = (): void => {
    if (!this.isPlaying) return;
    try {
      this.#window.sessionStorage.setItem(PLAYS_ON, "1");
    } catch {
      // Where a page may keep nothing, the agent begins as it began before.
    }
  };

  /** Whether the page was reloaded for the agent's next episode; read once. */
  #playsOn(): boolean {
    if (this.#isAsked) return false;
    this.#isAsked = true;
    try {
      const storage = this.#window.sessionStorage;
      const playsOn = storage.getItem(PLAYS_ON) !== null;
      storage.removeItem(PLAYS_ON);
      return playsOn;
    } catch {
      return false;
    }
  }

  #tick(): void {
    const adapter = this.#adapter;
    const page = this.#window;
    if (this.#phase === "pause") {
      this.#pauseSeconds -= 1 / TICKS_PER_SECOND;
      if (this.#pauseSeconds > 0) return;
      if (adapter.reset !== "reload") this.#begin();
      else {
        // As in training, a game without a restart of its own has a fresh page for each episode.
        this.#pauseSeconds = Number.POSITIVE_INFINITY;
        page.location.reload();
      }
      return;
    }
    if (this.#phase === "menu") {
      const isBegun = this.ticks > 0 && (adapter.playing === undefined || adapter.playing(page));
      if (!isBegun) {
        adapter.menu?.(page, this);
        this.ticks++;
        return;
      }
      this.#phase = "playing";
      this.#input.release();
    }
    if (adapter.over(page)) {
      this.#input.release();
      this.#phase = "pause";
      this.#pauseSeconds = PAUSE_SECONDS;
      return;
    }
    if (this.#ticksLeft === 0) {
      const mask = (adapter.allowed?.(page) as Allowed | undefined) ?? null;
      this.#action = this.#agent.act(this.#observation(), { mask });
      this.#ticksLeft = this.#ticksPerStep;
    }
    pressAction(adapter, page, this.#action, this, this.stepTick / this.#ticksPerStep);
    this.#ticksLeft--;
    this.ticks++;
  }
  #observation(): ObservationValue {
    const observed = this.#adapter.observe?.(this.#window) as ObservationValue;
    const pixels = this.#pixels;
    if (pixels === null) return observed;
    if (this.#isFirst) pixels.begin();
    else pixels.look();
    this.#isFirst = false;
    return observed === undefined ? pixels.stacked : besidePixels(observed, pixels.stacked);
  }
}
