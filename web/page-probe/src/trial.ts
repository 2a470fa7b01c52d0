/** Plays a script in a fresh page, and samples its places. */

import { pressPointer } from "attract/page-action";
import type { PageAdapter, PageWindow, PointerPlace } from "attract/page-adapter";
import type { DeviceName } from "../../page-clock/src/devices.gen.ts";
import type { UnheldUses } from "../../page-clock/src/unheld-uses.ts";
import type { ClockOptions } from "../../page-clock/src/virtual-clock.ts";
import { drawn } from "../../sdk/src/page/drawn.ts";
import { made } from "../../sdk/src/page/made.ts";
import { PHASER } from "../../sdk/src/page/phaser.ts";
import { PageFrame } from "../../worker/src/page/page-frame.ts";
import { type Listeners, listenersIn, noteClicks } from "./clicks.ts";
import { isError } from "./console-lines.ts";
import { attempt, type Place, type Value } from "./places.ts";

/** Frames that pass while a page loads; its requests in them are waited for. */
export const LOAD_TICKS = 30;
const SEED = 12345;
const MAX_TEXTS_WRITTEN = 200;
const MIN_ANIMATION_MS = 1000;
/** Frames in which the pointer does what takes a while once. */
const CYCLE = 8;

/** What is pressed in a tick. */
export interface Input {
  readonly keys: readonly string[];
  /** Where the pointer is, and what it does there. */
  readonly pointer?: PointerPlace;
  /** How much of its time has passed, from 0 to below 1. Default: it is done again and again. */
  readonly progress?: number;
}

export const NOTHING: Input = { keys: [] };

/** What is pressed in each tick, from 0; null: the script used the page's hands itself. */
export type Script = (tick: number, window: PageWindow) => Input | null;

export interface PageToProbe {
  /** Below the origin's root. */
  page: string;
  size: readonly [width: number, height: number];
  /** Whether the page advances only by calls of `advanceTime`. Default: no, by its own frames. */
  advances?: boolean;
  /** Whether its promises have a turn after each frame. Default: no. */
  turns?: boolean;
  /** Whether the pointer is a finger. Default: no. */
  touch?: boolean;
  /** Default: "desktop". */
  device?: DeviceName;
  /** Frames until it has loaded, if it shows that it loads for longer than `LOAD_TICKS`. */
  loadTicks?: number;
  /** After so long nothing further is tried. Default: 150 s. */
  budgetMs?: number;
}

/** What places held at some ticks. */
export interface Samples {
  readonly places: readonly Place[];
  readonly rows: Value[][];
}

/** What is different in a trial that is not a plain page's. */
export interface TrialOptions {
  /** Plays the page as this adapter has it: its restart and menu have passed once the trial is open. */
  adapter?: PageAdapter;
  parameters?: Readonly<Record<string, number>>;
  clock?: Partial<ClockOptions>;
  /** Called before the page has a script. */
  prepare?(window: PageWindow): void;
}

/** One page and its clock. */
export class Trial {
  static readonly #opened = new Set<Trial>();

  readonly window: PageWindow;
  readonly #frame: PageFrame;

  readonly #page: PageToProbe;
  #hasAsked = false;

  /** Texts that the page drew, once each. */
  readonly written: ReadonlySet<string>;
  /** Elements with click listeners. */
  readonly clickable: ReadonlySet<Element>;
  readonly #inputs: Listeners;

  private constructor(
    frame: PageFrame,
    page: PageToProbe,
    written: ReadonlySet<string>,
    clickable: ReadonlySet<Element>,
    inputs: Listeners,
  ) {
    this.#inputs = inputs;
    this.written = written;
    this.clickable = clickable;
    this.#frame = frame;
    this.#page = page;
    this.window = frame.window;
    Trial.#opened.add(this);
  }

  /** A fresh page that has loaded. Raises Error when it does not. */
  static async open(probed: PageToProbe, seed = SEED, options: TrialOptions = {}): Promise<Trial> {
    const { page, size, turns = false, touch = false, device = "desktop", loadTicks = LOAD_TICKS } = probed;
    const given = options.adapter;
    let looks = 0;
    const written = new Set<string>();
    const clickable = new Set<Element>();
    const inputs = new Map<string, Set<unknown>>();
    const plain = {
      page,
      size,
      css: true,
      taps: false,
      touch,
      device,
      turns,
      keys: [],
      pointers: {},
      labels: [],
      ready: () => looks++ >= loadTicks,
      observe: () => [],
      over: () => false,
    };
    const adapter = {
      ...(given ?? plain),
      reset: "reload",
      hidden: false,
      prepare: (window: PageWindow, parameters: Readonly<Record<string, number>>) => {
        noteWriting(window, written);
        noteClicks(window, clickable, inputs);
        drawn(window);
        made(window, PHASER);
        options.prepare?.(window);
        given?.prepare?.(window, parameters);
      },
    } as PageAdapter;
    const address = new URL(page.replace(/^https?:\/\/[^/]+/, ""), location.origin).href;
    const clock = { draws: true, webGl: "null", seed, dateSeed: seed, ...options.clock } as const;
    const frame = await PageFrame.load(adapter, address, clock, false, document.body, options.parameters);
    const trial = new Trial(frame, probed, written, clickable, inputs);
    if (adapter.turns) await frame.beginInTurns(seed);
    else frame.begin(seed);
    return trial;
  }

  /** What `thrown` is an error of; each trial that is still open is closed. */
  static failure(thrown: unknown): unknown {
    const explained = [...Trial.#opened].map((trial) => trial.#frame.explain(thrown));
    for (const trial of Trial.#opened) trial.close();
    return explained.find((error) => error !== thrown) ?? thrown;
  }

  /** What presses keys and the pointer in it. */
  get hands(): PageFrame {
    return this.#frame;
  }

  /** Whether the page asked for a reload, which ends its game. */
  get isReloadDue(): boolean {
    return this.#frame.isReloadDue;
  }

  /** Whether the page has asked for files while it was played. */
  get hasAsked(): boolean {
    return this.#hasAsked;
  }

  /** What the page threw so far, what errors it caught and wrote to its console, and what no clock holds. */
  get seen(): { errors: unknown[]; written: unknown[]; unheld: UnheldUses } {
    const { errors, consoleErrors } = this.#frame.clock;
    const written = consoleErrors.flatMap(({ args }) =>
      args.filter((value) => attempt(() => isError(value)) === true),
    );
    return { errors: [...errors], written, unheld: this.#frame.unheld };
  }

  /** See `listenersIn`. */
  get listeners(): Listeners {
    return listenersIn(this.window, this.#inputs);
  }

  /** Inputs that the page listens to by now, sorted. */
  get listens(): string[] {
    return [...this.listeners.keys()].sort();
  }

  /** What the page kept and said is forgotten, as where an episode begins. */
  forget(): void {
    this.#frame.clock.clearStorage();
  }

  /** Whether what it draws from now on is drawn. */
  draw(isOn: boolean): void {
    this.#frame.clock.draws = isOn;
  }

  /** Whether animations of the style sheets are under way that take a while and come to an end: things that move by them. */
  get isAnimated(): boolean {
    const all = this.window.document.getAnimations() as CSSAnimation[];
    return all.some(({ animationName, effect }) => {
      const end = Number(effect?.getComputedTiming().endTime ?? 0);
      return animationName !== undefined && end >= MIN_ANIMATION_MS && Number.isFinite(end);
    });
  }

  /** Plays `ticks` frames, or as many as `milliseconds` and the page allow; `places` are read before the first and after each `every`th. */
  async play(
    script: Script,
    ticks: number,
    places: readonly Place[],
    every = 1,
    milliseconds = Number.POSITIVE_INFINITY,
  ): Promise<Samples> {
    const { advances = false, turns = false } = this.#page;
    const rows: Value[][] = [this.read(places)];
    const began = performance.now();
    for (
      let tick = 0;
      tick < ticks && !this.isReloadDue && performance.now() - began < milliseconds;
      tick++
    ) {
      const input = script(tick, this.window);
      if (input !== null) {
        this.#frame.hold(input.keys);
        const progress = input.progress ?? (tick % CYCLE) / CYCLE;
        pressPointer(input.pointer ?? null, this.#frame, progress, false);
      }
      if (advances) this.window.advanceTime(1000 / 60);
      this.#frame.tick();
      this.#hasAsked ||= this.#frame.clock.numLoading > 0;
      if (turns) await this.#frame.giveTurn();
      if ((tick + 1) % every === 0) rows.push(this.read(places));
    }
    return { places, rows };
  }

  close(): void {
    Trial.#opened.delete(this);
    this.#frame.remove();
  }

  /** What the places hold now. */
  read(places: readonly Place[]): Value[] {
    return places.map((place) => {
      try {
        return place.read(this.window);
      } catch {
        return undefined;
      }
    });
  }
}

/** What a page writes into its canvas is heard of. */
function noteWriting({ CanvasRenderingContext2D }: PageWindow, written: Set<string>): void {
  const { prototype } = CanvasRenderingContext2D;
  for (const name of ["fillText", "strokeText"]) {
    const original = prototype[name];
    prototype[name] = function (text: unknown, ...where: unknown[]) {
      if (written.size < MAX_TEXTS_WRITTEN) written.add(String(text));
      return original.call(this, text, ...where);
    };
  }
}

/** Which of the places differ between two plays at any time. */
export function differing(first: Samples, second: Samples): Set<Place> {
  const found = new Set<Place>();
  first.places.forEach((place, at) => {
    if (first.rows.some((row, i) => !isSame(row[at], second.rows[i]?.[at]))) found.add(place);
  });
  return found;
}

export function isSame(one: Value, other: Value): boolean {
  if (typeof one === "object" && typeof other === "object")
    return one.length === other.length && one.every((value, i) => Object.is(value, other[i]));
  return Object.is(one, other);
}
