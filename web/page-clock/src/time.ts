/** Virtual time: whole milliseconds that pass only in `tick`, with the timers and frames that fall due. Knows no page. */

/** The earliest date at a page's time 0, and the date of every page that is not loaded for an episode. */
export const EPOCH_MS = Date.UTC(2024, 0, 1);
/** A callback that reads the clock more often than this waits in a loop: then each read advances time a little. */
const MAX_LOOKS = 20_000;
/** Once it has waited so long, it may do some work between its looks, and is not kept waiting for as many again. */
const WAITING_LOOKS = 50;
/** Browsers let a timer that was set by a timer, and so on, wait for at least 4 ms. */
const MAX_NESTING = 5;
const NESTED_MS = 4;
/**
 * Where in its second an episode begins. A new page has had a frame by then, in which it set itself up; and what adds up
 * the time in steps of its own (60 or 50 a second) is between two steps: at the edge of one, rounding would decide in
 * which frame it is taken.
 */
const BEGINNING_MS = 17.5;
/** More timers in one tick are a page that never comes to an end. */
const MAX_TIMERS = 10_000;

type Callback = (...args: unknown[]) => unknown;

interface Timer {
  callback: unknown;
  args: unknown[];
  /** Its interval in ms; 0 = once. */
  every: number;
  nesting: number;
}

/** [due in ms, order of being set, id] */
type Entry = readonly [number, number, number];

export interface TimeOptions {
  /** What a callback threw, or a promise left behind. */
  report(error: unknown): void;
  /** Runs what a page gave as text, among its globals. */
  evaluate(code: string): void;
  /** What callbacks have as `this`: the page's window. */
  self?: object;
  /** Called before code of the page runs. */
  enter?(): void;
  /** Each tick between the timers and the frames' callbacks. Null: there is nothing to do, as in most ticks. */
  beforeFrames?(): Pauses | null;
  /** The end of each tick; reads `now`. */
  afterFrames?(): Pauses | null;
}

/** Stops where promises of the page may have their turn: between two calls of its code. */
export type Pauses = Generator<undefined, void>;

/** 60 frames a second as 17, 17 and 16 ms: differences are exact, and in phase where an episode begins. */
export class VirtualTime {
  /** Milliseconds since the page began. */
  now = 0;
  /** When the last frame began: time as animations have it. */
  frameAt = 0;
  /** How often time crept because a callback waited for it. */
  spins = 0;
  /** Whether a tick was left with timers that were due: they come first in the next. */
  overran = false;
  readonly #options: TimeOptions;
  readonly #timers = new Map<number, Timer>();
  readonly #background = new Set<number>();
  readonly #heap: Entry[] = [];
  #frames = new Map<number, Callback>();
  /** Callbacks of the current frame; one that another cancels does not run. */
  #due = new Map<number, Callback>();
  #looks = 0;
  #maxLooks = MAX_LOOKS;
  #nextId = 1;
  #order = 0;
  #frame = 0;
  #nesting = 0;
  /** Whether code of the page has run in this tick. */
  #hasCalled = false;
  /** The newest tick with pauses, which may have been left at one. */
  #open: Pauses | null = null;
  /** Timers that may still run in this tick. */
  #left = 0;

  /** @param now where it begins, in ms: of a frame within a page, that of the page. */
  constructor(options: TimeOptions, now = 0) {
    this.#options = options;
    this.now = now;
    this.frameAt = now;
  }

  /** Those of the page; what plays on beside a game that has stopped, such as music, is none. */
  get numTimers(): number {
    let count = 0;
    for (const id of this.#timers.keys()) if (!this.#background.has(id)) count++;
    return count;
  }

  get numFrames(): number {
    return this.#frames.size;
  }

  /** The time, as a page reads it. */
  readonly look = (): number => {
    if (++this.#looks > this.#maxLooks) {
      this.#looks = 0;
      this.#maxLooks = WAITING_LOOKS;
      this.spins++;
      this.now++;
    }
    return this.now;
  };

  /** Sets a timer and returns its id. `isClamped`: as `setTimeout`, which makes nested timers wait. */
  add(callback: unknown, delay: unknown, args: unknown[] = [], isRepeated = false, isClamped = true): number {
    const id = this.#nextId++;
    const asked = Math.max(0, Number(delay) | 0);
    const least = isClamped && this.#nesting >= MAX_NESTING ? NESTED_MS : 0;
    const wait = Math.max(asked, least, isRepeated ? 1 : 0);
    this.#timers.set(id, { callback, args, every: isRepeated ? wait : 0, nesting: this.#nesting + 1 });
    this.#push([this.now + wait, this.#order++, id]);
    return id;
  }

  /** As `add`, for a task that no nesting lets wait. */
  post(callback: unknown, delay: unknown = 0, args: unknown[] = []): number {
    return this.add(callback, delay, args, false, false);
  }

  /** Sets a timer of the clock's own, for what runs beside the page; returns its id. */
  addBackground(callback: () => void, delay: number): number {
    const id = this.add(callback, delay, [], false, false);
    this.#background.add(id);
    return id;
  }

  remove(id: unknown): void {
    this.#timers.delete(Number(id));
    this.#background.delete(Number(id));
  }

  addFrame(callback: Callback): number {
    const id = this.#nextId++;
    this.#frames.set(id, callback);
    return id;
  }

  removeFrame(id: unknown): void {
    this.#frames.delete(Number(id));
    this.#due.delete(Number(id));
  }

  /** One frame of 17, 17 or 16 ms, or of `milliseconds`: timers in the order in which they fall due, then the frame's callbacks. */
  tick(milliseconds?: number): void {
    const end = this.#begin(milliseconds);
    while (this.#isDue(end)) this.#runTimer();
    this.#reach(end);
    playOn(this.#options.beforeFrames?.());
    for (const callback of this.#takeFrames().values()) this.call(callback, [this.now]);
    this.#due.clear();
    playOn(this.#options.afterFrames?.());
  }

  /** As `tick`, with pauses. */
  ticking(milliseconds?: number): Pauses {
    this.#open = this.#pausing(this.#begin(milliseconds));
    return this.#open;
  }

  *#pausing(end: number): Pauses {
    while (this.#isDue(end)) {
      // What runs in it may set or remove the very next.
      yield* this.pause();
      this.#hasCalled = false;
      if (this.#isDue(end)) this.#runTimer();
    }
    this.#reach(end);
    yield* this.#options.beforeFrames?.() ?? [];
    for (const id of this.#takeFrames().keys()) {
      yield* this.pause();
      this.call(this.#due.get(id), [this.now]);
    }
    this.#due.clear();
    yield* this.#options.afterFrames?.() ?? [];
  }

  /** A tick that was left at a pause is played to its end first: its frame's callbacks would be lost. */
  #begin(milliseconds: number | undefined): number {
    const open = this.#open;
    this.#open = null;
    playOn(open);
    this.#hasCalled = false;
    this.overran = false;
    this.#left = MAX_TIMERS;
    const frame = this.#frame++;
    return this.now + (milliseconds ?? (frame % 3 === 2 ? 16 : 17));
  }

  #reach(end: number): void {
    if (this.now < end) this.now = end;
    this.frameAt = this.now;
  }

  #takeFrames(): ReadonlyMap<number, Callback> {
    [this.#due, this.#frames] = [this.#frames, this.#due];
    return this.#due;
  }

  /** Where what the page has called in this tick may have its turn. */
  *pause(): Pauses {
    if (this.#hasCalled) yield;
  }

  /** Ticks until `BEGINNING_MS` after the next whole second, and the beginning of a row of 17, 17 and 16. */
  align(): void {
    while (this.now % 1000 !== BEGINNING_MS) {
      const left = (1000 + BEGINNING_MS - (this.now % 1000)) % 1000;
      this.tick(left <= BEGINNING_MS ? left : undefined);
    }
    this.#frame = 0;
  }

  /** Code of the page runs next. */
  enter(): void {
    this.#options.enter?.();
  }

  /** Calls what a page left to be called; what it throws is reported. */
  call(callback: unknown, args: unknown[] = [], self: unknown = this.#options.self): void {
    this.enter();
    this.#hasCalled = true;
    this.#looks = 0;
    this.#maxLooks = MAX_LOOKS;
    try {
      if (typeof callback === "function") callback.apply(self, args);
      else if (callback != null) this.#options.evaluate(String(callback));
    } catch (error) {
      this.#options.report(error);
    }
  }

  /** Whether a timer is to run before `end`; one that was removed is none. */
  #isDue(end: number): boolean {
    const heap = this.#heap;
    while (heap.length > 0 && heap[0][0] <= end) {
      if (this.#timers.has(heap[0][2])) {
        this.overran = this.#left === 0;
        return !this.overran;
      }
      this.#pop();
    }
    return false;
  }

  #runTimer(): void {
    this.#left--;
    const [due, , id] = this.#pop();
    const timer = this.#timers.get(id) as Timer;
    if (due > this.now) this.now = due;
    this.#nesting = timer.nesting;
    if (timer.every > 0) {
      if (++timer.nesting > MAX_NESTING) timer.every = Math.max(timer.every, NESTED_MS);
      this.#push([this.now + timer.every, this.#order++, id]);
    } else this.remove(id);
    this.call(timer.callback, timer.args);
    this.#nesting = 0;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(entry);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(heap[i], heap[parent])) break;
      [heap[i], heap[parent]] = [heap[parent], heap[i]];
      i = parent;
    }
  }

  #pop(): Entry {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop() as Entry;
    if (heap.length === 0) return top;
    heap[0] = last;
    for (let i = 0; ; ) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], heap[i])) break;
      [heap[i], heap[child]] = [heap[child], heap[i]];
      i = child;
    }
    return top;
  }
}

function playOn(pauses: Pauses | null | undefined): void {
  if (pauses != null) for (const _ of pauses);
}

function isBefore(a: Entry, b: Entry): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}
