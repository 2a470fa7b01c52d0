/** The clock of one page, as the trainer holds it: time, chance, input, storage, sound and drawing of that window. */

import { type Animations, followAnimations } from "./animations.ts";
import { Chance, installChance } from "./chance.ts";
import { installTime } from "./clock-functions.ts";
import { type AnyCanvas, type Drawing, installDrawing, type WebGl } from "./drawing.ts";
import { installFocus } from "./focus.ts";
import { Input, type Point } from "./input.ts";
import { installLoading, type Loading } from "./loading.ts";
import { installObservers, type Observers } from "./observers.ts";
import { installPortals, type Portals } from "./portals.ts";
import { installSound } from "./sound.ts";
import { installSurroundings, type Surroundings } from "./surroundings.ts";
import { VirtualTime } from "./time.ts";
import { watchUnheld } from "./unheld.ts";

type Page = Window & typeof globalThis;

/** What the owner of a frame says of it, as JSON in the frame's `data-attract-clock`. */
export interface ClockOptions {
  /** Of chance while the page loads; 32 bits. */
  seed: number;
  /** Whether what the page draws is to be seen. */
  draws: boolean;
  webGl: WebGl;
  /** Whether an agent sees what is drawn. */
  isSeen: boolean;
  /** Of the window, in CSS pixels. */
  size: readonly [width: number, height: number];
}

export const DEFAULT_OPTIONS: ClockOptions = {
  seed: 1,
  draws: true,
  webGl: "null",
  isSeen: false,
  size: [800, 600],
};
/** Errors that are kept; older ones go. */
const MOST_ERRORS = 20;

export class VirtualClock {
  /** What the page's own code threw, the newest last. */
  readonly errors: unknown[] = [];
  /** What the page does that no clock holds, a sentence's predicate each. */
  readonly unheld = new Set<string>();
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  readonly #animations: Animations;
  readonly #observers: Observers;
  readonly #loading: Loading;
  readonly #portals: Portals;
  readonly #drawing: Drawing;
  readonly #surroundings: Surroundings;
  readonly #input: Input;

  /** Takes over `window`, before any script of its page. */
  constructor(window: Page, options: ClockOptions) {
    const report = (error: unknown): void => {
      this.errors.push(error);
      if (this.errors.length > MOST_ERRORS) this.errors.shift();
    };
    this.#time = new VirtualTime({
      report,
      evaluate: (code) => window.eval(code),
      beforeFrames: () => this.#animations.advance(),
      afterFrames: () => this.#observers.tell(),
    });
    this.#chance = new Chance(options.seed);
    this.#animations = followAnimations(window, this.#time);
    this.#input = new Input(window, this.#time, installFocus(window));
    this.#observers = installObservers(window, this.#time);
    this.#portals = installPortals(window, (call) => this.#time.add(call, 0, [], false, false));
    this.#loading = installLoading(window, this.#time, this.unheld, this.#portals);
    this.#drawing = installDrawing(window, options);
    this.#surroundings = installSurroundings(window, options.size);
    installChance(window, this.#chance);
    installSound(window, this.#time);
    watchUnheld(window, this.#time, this.unheld);
    // The last: all before may use what it replaces.
    installTime(window, this.#time);
    window.addEventListener("error", (event) => report(event.error ?? event.message));
    window.addEventListener("unhandledrejection", (event) => report(event.reason));
  }

  /** Milliseconds since the page began. */
  get now(): number {
    return this.#time.now;
  }

  /** Whether nothing of the page runs any more: no timer, no frame, nothing under way. */
  get isIdle(): boolean {
    return this.#time.numTimers === 0 && this.#time.numFrames === 0 && this.#loading.count === 0;
  }

  /** How many things the page waits for from outside. */
  get numLoading(): number {
    return this.#loading.count;
  }

  /** Whether the page read back what it was not to draw: those canvases are drawn all the same. */
  get isDrawingRead(): boolean {
    return this.#drawing.isRead;
  }

  /** Canvases that asked for WebGL in vain, and that nothing is drawn on. */
  get refusedWebGl(): ReadonlySet<AnyCanvas> {
    return this.#drawing.refused;
  }

  /** What draws the page's WebGL, in the browser's words; null where the page uses none of its own. */
  get webGlRenderer(): string | null {
    return this.#drawing.renderer;
  }

  /** How often time crept because a loop of the page waited for it. */
  get numSpins(): number {
    return this.#time.spins;
  }

  set draws(isOn: boolean) {
    this.#drawing.isOn = isOn;
  }

  /** A person plays: what they do reaches the page. */
  set isHuman(isHuman: boolean) {
    this.#surroundings.isHuman = isHuman;
  }

  /** One frame of the page: 17, 17 or 16 ms. */
  tick(): void {
    this.#time.tick();
  }

  /** Ticks to the next whole second: every episode begins in the same phase. */
  align(): void {
    this.#time.align();
  }

  /** Chance begins anew. @param seed 32 bits. */
  seed(seed: number): void {
    this.#chance.seed(seed);
  }

  /** Takes over animations and transitions that began since. */
  collectAnimations(): void {
    this.#animations.collect();
  }

  /** Exactly these keys are down from now on. */
  hold(codes: readonly string[]): void {
    this.#input.hold(codes);
  }

  /** Where the pointer is from now on, and whether it is pressed. */
  point(point: Point, isDown: boolean): void {
    this.#input.point(point, isDown);
  }

  /** The pointer is not pressed any more. */
  lift(): void {
    this.#input.lift();
  }

  /** Nothing is held any more. */
  release(): void {
    this.#input.release();
  }

  /** As if nothing had been played before: storage and cookies are empty, and no score was sent. */
  clearStorage(): void {
    this.#portals.forget();
    this.#surroundings.clearStorage();
  }
}
