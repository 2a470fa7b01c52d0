/** The clock of one page, as the trainer holds it: time, chance, input, storage, sound and drawing of that window. */

import type { PointerHow } from "../../sdk/src/page-adapter.ts";
import { Animations } from "./animations.ts";
import { Chance, dateOf, installChance } from "./chance.ts";
import { installTime } from "./clock-functions.ts";
import { installDevice } from "./device.ts";
import type { DeviceName } from "./devices.gen.ts";
import { forgetAlerts } from "./dialogs.ts";
import { type AnyCanvas, type Drawing, installDrawing, type WebGl } from "./drawing.ts";
import { installFocus } from "./focus.ts";
import { Input } from "./input.ts";
import { installLoading, type Loading } from "./loading.ts";
import { installMessages, type Running } from "./messages.ts";
import { NestedFrames } from "./nested-frames.ts";
import { installObservers, type Observers } from "./observers.ts";
import { define } from "./overriding.ts";
import { holdOwnTurns } from "./own-turns.ts";
import type { Point } from "./pointer.ts";
import { installPortals, type Portals } from "./portals.ts";
import { installSound } from "./sound.ts";
import { installSurroundings, Kept, type Surroundings } from "./surroundings.ts";
import { EPOCH_MS, type Pauses, VirtualTime } from "./time.ts";
import { watchUnheld } from "./unheld.ts";
import { UnheldUses } from "./unheld-uses.ts";

type Page = Window & typeof globalThis;

/** What adapters may have left in a page, which sees what is drawn there. */
interface DrawnWindow {
  attractDrawn?: { forget(): void };
}

/** What the owner of a frame says of it, as JSON in the frame's `data-attract-clock`. */
export interface ClockOptions {
  /** Seed of random numbers while the page loads; 32 bits. */
  seed: number;
  /** Seed of the date at the page's time 0: its episode's seed, 32 bits; null: not loaded for an episode. */
  dateSeed: number | null;
  /** Whether what the page draws is to be seen. */
  draws: boolean;
  webGl: WebGl;
  /** Whether an agent sees what is drawn. */
  isSeen: boolean;
  /** Size of the window, in CSS pixels. */
  size: readonly [width: number, height: number];
  /** Whether the pointer is a finger, and the page on a phone. */
  touch: boolean;
  /** Whether it has a gamepad from its beginning on. */
  pad: boolean;
  device: DeviceName;
}

export const DEFAULT_OPTIONS: ClockOptions = {
  seed: 1,
  dateSeed: null,
  draws: true,
  webGl: "null",
  isSeen: false,
  size: [800, 600],
  touch: false,
  pad: false,
  device: "desktop",
};
const NO_KEYS: readonly string[] = [];
/** Errors that are kept; older ones go. */
const MAX_ERRORS = 20;

/** What the page's own code wrote by `console.error`. */
export interface ConsoleError {
  readonly args: readonly unknown[];
  readonly stack: string | null;
}

/** What a page and the frames within it have in common. */
interface Common {
  readonly errors: unknown[];
  readonly consoleErrors: ConsoleError[];
  readonly unheld: UnheldUses;
  readonly chance: Chance;
  readonly kept: Kept;
  readonly running: Running;
  /** The page's time when the frame began, in ms. */
  readonly now: number;
}

export class VirtualClock {
  /** What the page's own code threw, the newest last. */
  readonly errors: unknown[];
  /** The newest last. */
  readonly consoleErrors: ConsoleError[];
  /** What the page does that no clock holds. */
  readonly unheld: UnheldUses;
  readonly #window: Page & DrawnWindow;
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  readonly #animations: Animations;
  readonly #observers: Observers;
  readonly #loading: Loading;
  readonly #portals: Portals;
  readonly #drawing: Drawing;
  readonly #surroundings: Surroundings;
  readonly #input: Input;
  readonly #frames: NestedFrames<VirtualClock>;
  readonly #resize: ReturnType<typeof installDevice>;
  #draws: boolean;
  #followsAnimations = true;

  /**
   * Takes over `window`, before any script of its page.
   *
   * @param common of the page that it is a frame of. Default: it is the page itself.
   */
  constructor(window: Page, options: ClockOptions, common?: Common) {
    this.#window = window;
    this.errors = common?.errors ?? [];
    this.consoleErrors = common?.consoleErrors ?? [];
    this.unheld = common?.unheld ?? new UnheldUses();
    this.#draws = options.draws;
    const kept = common?.kept ?? new Kept();
    const report = (error: unknown): void => keep(this.errors, error);
    const running = common?.running ?? { window, ports: new WeakMap() };
    running.window = window;
    const now = common?.now ?? 0;
    this.#time = new VirtualTime(
      {
        // As the browser does: the page's own handlers hear of it, and so does the listener below.
        report: (error) => window.reportError(error),
        self: window,
        enter: () => {
          running.window = window;
        },
        evaluate: (code) => window.eval(code),
        beforeFrames: () => this.#animations.advance(),
        afterFrames: () => this.#endTick(),
      },
      now,
    );
    this.#chance = common?.chance ?? new Chance(options.seed);
    this.#animations = new Animations(window, this.#time);
    // Before the frames, which follow what gets the focus.
    const focus = installFocus(window);
    const look = (): void => {
      if (this.#followsAnimations) this.#animations.collect();
      else this.#animations.settle();
    };
    this.#frames = new NestedFrames(window, (inner, size) => {
      const { errors, consoleErrors, unheld } = this;
      const shared = {
        errors,
        consoleErrors,
        unheld,
        chance: this.#chance,
        kept,
        running,
        now: this.#time.now,
      };
      const clock = new VirtualClock(inner, { ...options, size, draws: this.#draws }, shared);
      clock.isHuman = this.#surroundings.isHuman;
      clock.followsAnimations = this.#followsAnimations;
      return clock;
    });
    this.#observers = installObservers(window, this.#time);
    this.#portals = installPortals(window, (call) => this.#time.post(call));
    this.#loading = installLoading(window, this.#time, this.unheld, this.#portals);
    holdOwnTurns(window, this.#time, this.#loading);
    this.#drawing = installDrawing(window, options);
    this.#surroundings = installSurroundings(window, this.#time, kept, this.unheld, common === undefined);
    this.#resize = installDevice(window, this.#time, options);
    const { lock } = this.#surroundings;
    this.#input = new Input(window, this.#time, focus, { beforeLooking: look, lock, isTouch: options.touch });
    this.#input.installCapture();
    if (options.pad) this.#time.post(() => this.#input.connectPad());
    installChance(window, this.#chance);
    installSound(window, this.#time, this.#loading);
    watchUnheld(window, this.#time, this.unheld);
    const { console } = window;
    const writeError = console.error.bind(console);
    define(console, "error", (...args: unknown[]) => {
      keep(this.consoleErrors, { args, stack: new window.Error().stack ?? null });
      writeError(...args);
    });
    // The last: all before may use what it replaces.
    installMessages(window, this.#time, running);
    installTime(window, this.#time, options.dateSeed === null ? EPOCH_MS : dateOf(options.dateSeed));
    window.addEventListener("error", (event) => report(event.error ?? event.message));
    window.addEventListener("unhandledrejection", (event) => report(event.reason));
  }

  /** Milliseconds since the page began. */
  get now(): number {
    return this.#time.now;
  }

  /** Whether the page has stopped: no timer, no frame, nothing loading. */
  get isIdle(): boolean {
    const isIdle = this.#time.numTimers === 0 && this.#time.numFrames === 0 && this.#loading.count === 0;
    return isIdle && this.#frames.all.every(({ clock }) => clock.isIdle);
  }

  /** How many things the page waits for from outside. */
  get numLoading(): number {
    return this.#frames.all.reduce((sum, { clock }) => sum + clock.numLoading, this.#loading.count);
  }

  /** What the page waits for: a path, or the function that was called, of each. */
  get pending(): string[] {
    return [...this.#loading.pending, ...this.#frames.all.flatMap(({ clock }) => clock.pending)];
  }

  /** Whether the page read back what it was not to draw: those canvases are drawn all the same. */
  get isDrawingRead(): boolean {
    return this.#drawing.isRead || this.#frames.all.some(({ clock }) => clock.isDrawingRead);
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
    return this.#frames.all.reduce((sum, { clock }) => sum + clock.numSpins, this.#time.spins);
  }

  set draws(isOn: boolean) {
    this.#draws = isOn;
    this.#drawing.isOn = isOn;
    for (const { clock } of this.#frames.all) clock.draws = isOn;
  }

  /** Whether the page has asked for a reload since the last episode began. */
  get isReloadDue(): boolean {
    return this.#surroundings.isReloadDue;
  }

  /** The address that the page has asked for, however long the browser takes to go there. */
  get leavingFor(): string | null {
    return this.#surroundings.leavingFor;
  }

  /** A person plays: what they do reaches the page. */
  set isHuman(isHuman: boolean) {
    this.#surroundings.isHuman = isHuman;
    for (const { clock } of this.#frames.all) clock.isHuman = isHuman;
  }

  /** Its window has this size from now on, and those within it theirs. The page hears of it in the next tick. */
  resize(size: readonly [width: number, height: number]): void {
    this.#resize(size);
    for (const { clock, element } of this.#frames.all)
      clock.resize([element.clientWidth, element.clientHeight]);
  }

  /** One frame of the page: 17, 17 or 16 ms. */
  tick(): void {
    this.#time.tick();
  }

  /** As `tick`, with pauses in which promises may have their turn. */
  ticking(): Pauses {
    return this.#time.ticking();
  }

  /** Advances a frame within a page to the page's time `now`, in ms. */
  *follow(now: number): Pauses {
    if (now > this.#time.now) yield* this.#time.ticking(now - this.#time.now);
  }

  #endTick(): Pauses | null {
    return this.#frames.all.length > 0 ? this.#endAll() : this.#observers.notify();
  }

  *#endAll(): Pauses {
    yield* this.#observers.notify() ?? [];
    for (const { clock } of [...this.#frames.all]) yield* clock.follow(this.#time.now);
  }

  /** Ticks to where the next episode begins: each in the same phase of a second, a new page's too. */
  align(): void {
    this.#time.align();
  }

  /** Restarts the random numbers. @param seed 32 bits. */
  seed(seed: number): void {
    this.#chance.seed(seed);
  }

  /** Whether `collectAnimations` is called in each frame; where it is not, what lies under the pointer is where animations end. */
  set followsAnimations(follows: boolean) {
    this.#followsAnimations = follows;
    for (const { clock } of this.#frames.all) clock.followsAnimations = follows;
  }

  /** Takes over animations and transitions that began since. */
  collectAnimations(): void {
    this.#animations.collect();
    for (const { clock } of this.#frames.all) clock.collectAnimations();
  }

  /** Exactly these keys are down from now on. */
  hold(codes: readonly string[]): void {
    const focused = this.#frames.focused;
    for (const { clock } of this.#frames.all) if (clock !== focused) clock.hold(NO_KEYS);
    this.#input.hold(focused === null ? codes : NO_KEYS);
    focused?.hold(codes);
  }

  /** Where the pointer is from now on, and what it does there: see `Input.point`. */
  point(point: Point, how: boolean | PointerHow, second?: Point): void {
    const [x, y] = point;
    const isDown = how !== false && how !== "move";
    const inner = this.#frames.at(x, y);
    const within = ({ place: { left, top } }: { place: { left: number; top: number } }): Point => [
      x - left,
      y - top,
    ];
    for (const frame of this.#frames.all) if (frame !== inner) frame.clock.leave(within(frame));
    if (inner === null) {
      this.#frames.focus(null, isDown);
      this.#input.point(point, how, second);
      return;
    }
    this.#input.leave(point);
    this.#frames.focus(inner, isDown);
    const there = within(inner);
    const [dx, dy] = [x - there[0], y - there[1]];
    inner.clock.point(there, how, second && [second[0] - dx, second[1] - dy]);
  }

  /** Release the pointer. */
  lift(): void {
    this.#input.lift();
    for (const { clock } of this.#frames.all) clock.lift();
  }

  /** The pointer is elsewhere, at `point`. */
  leave(point: Point): void {
    this.#input.leave(point);
    for (const { clock } of this.#frames.all) clock.leave(point);
  }

  /** Release everything. */
  release(): void {
    this.#input.release();
    for (const { clock } of this.#frames.all) clock.release();
  }

  /** The page has loaded: what it keeps by now is there whenever it begins. */
  keepStorage(): void {
    this.#surroundings.keepStorage();
  }

  /** As if nothing had been played before: storage and cookies are those of `keepStorage`, no score was sent, nothing was said, and nothing has moved. */
  clearStorage(): void {
    this.#surroundings.isReloadDue = false;
    this.#portals.forget();
    this.#window.attractDrawn?.forget();
    forgetAlerts(this.#window);
    this.#surroundings.clearStorage();
  }
}

/** Adds an error to those that are kept. */
function keep<T>(errors: T[], error: T): void {
  errors.push(error);
  if (errors.length > MAX_ERRORS) errors.shift();
}
