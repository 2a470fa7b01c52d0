/** Everything by which a page reads time or waits for it, on virtual time. */

import { define, defineGetter, defineProperty } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;
type Callback = (...args: unknown[]) => unknown;

/** Times of the events that the trainer dispatches. All other events happen now. */
export const stamps = new WeakMap<Event, number>();

/** @param originMs the date at the page's time 0, in ms since 1970. */
export function installTime(window: Page, time: VirtualTime, originMs: number): void {
  installTimers(window, time);
  installClocks(window, time, originMs);
  installMessages(window, time);
}

function installTimers(window: Page, time: VirtualTime): void {
  const set =
    (isRepeated: boolean) =>
    (callback: unknown, delay?: unknown, ...args: unknown[]): number =>
      time.add(callback, delay, args, isRepeated);
  define(window, "setTimeout", set(false));
  define(window, "setInterval", set(true));
  define(window, "setImmediate", (callback: unknown, ...args: unknown[]) =>
    time.add(callback, 0, args, false, false),
  );
  for (const name of ["clearTimeout", "clearInterval", "clearImmediate", "cancelIdleCallback"])
    define(window, name, (id: unknown) => time.remove(id));
  for (const [request, cancel] of [
    ["requestAnimationFrame", "cancelAnimationFrame"],
    ["webkitRequestAnimationFrame", "webkitCancelAnimationFrame"],
  ]) {
    define(window, request, (callback: Callback) => time.addFrame(callback));
    define(window, cancel, (id: unknown) => time.removeFrame(id));
  }
  define(window, "requestIdleCallback", (callback: Callback) =>
    time.add(() => callback({ didTimeout: false, timeRemaining: () => 8 }), 1, [], false, false),
  );
  const later = (delay: number): Promise<void> =>
    new Promise((resolve) => time.add(resolve, delay, [], false, false));
  define(window, "scheduler", {
    yield: () => later(0),
    postTask: async (callback: () => unknown, options?: { delay?: number; signal?: AbortSignal }) => {
      await later(options?.delay ?? 0);
      options?.signal?.throwIfAborted();
      return callback();
    },
  });
  define(window.AbortSignal, "timeout", (delay: number) => {
    const controller = new window.AbortController();
    const late = () => controller.abort(new window.DOMException("signal timed out", "TimeoutError"));
    time.add(late, delay, [], false, false);
    return controller.signal;
  });
}

function installClocks(window: Page, time: VirtualTime, originMs: number): void {
  const date = (): number => originMs + time.look();
  define(window.performance, "now", time.look);
  defineGetter(window.performance, "timeOrigin", () => originMs);
  class VirtualDate extends window.Date {
    constructor(...args: unknown[]) {
      super(...((args.length === 0 ? [date()] : args) as [number]));
    }
    static override now(): number {
      return date();
    }
  }
  const called = new Proxy(VirtualDate, { apply: () => new VirtualDate(date()).toString() });
  for (const [name, value] of Object.entries({ name: "Date", length: window.Date.length }))
    defineProperty(VirtualDate, name, { value, configurable: true });
  VirtualDate.prototype.constructor = called;
  define(window, "Date", called);
  defineGetter(window.Event.prototype, "timeStamp", function (this: Event) {
    return stamps.get(this) ?? time.now;
  });
  defineGetter(window.AnimationTimeline.prototype, "currentTime", () => time.now);
  installTemporal(window, date);
  installFormats(window, date);
  installMarks(window, time);
}

/** A format that is given no date takes the present one. */
function installFormats(window: Page, date: () => number): void {
  const formats = (window as unknown as { Intl: typeof Intl }).Intl.DateTimeFormat.prototype;
  const format = Object.getOwnPropertyDescriptor(formats, "format")?.get as () => (given: unknown) => string;
  defineGetter(formats, "format", function (this: Intl.DateTimeFormat) {
    const formatted = format.call(this);
    return (given?: unknown) => formatted(given === undefined ? date() : given);
  });
  const { formatToParts } = formats;
  define(formats, "formatToParts", function (this: Intl.DateTimeFormat, given?: number | Date) {
    return formatToParts.call(this, given ?? date());
  });
}

/** The browser keeps marks and measures; what they would take from its own clock is given to it. */
function installMarks(window: Page, time: VirtualTime): void {
  const { performance } = window;
  const mark = performance.mark.bind(performance);
  const measure = performance.measure.bind(performance);
  define(performance, "mark", (name: string, options?: PerformanceMarkOptions) =>
    mark(name, { ...options, startTime: options?.startTime ?? time.look() }),
  );
  define(performance, "measure", (name: string, from?: string | PerformanceMeasureOptions, to?: string) => {
    if (typeof from === "string") return measure(name, { start: from, end: to ?? time.look() });
    const isWhole = from?.duration !== undefined && from.start !== undefined;
    const end = from?.end ?? (isWhole ? undefined : time.look());
    // The browser accepts at most two of start, end and duration.
    return measure(name, end === undefined ? from : { ...from, end });
  });
}

interface TemporalLike {
  Now: Record<string, unknown>;
  Instant: {
    fromEpochMilliseconds(ms: number): { toZonedDateTimeISO(zone: string): Record<string, () => unknown> };
  };
}

function installTemporal(window: Page, date: () => number): void {
  const temporal = (window as unknown as { Temporal?: TemporalLike }).Temporal;
  if (temporal === undefined) return;
  const instant = (): ReturnType<TemporalLike["Instant"]["fromEpochMilliseconds"]> =>
    temporal.Instant.fromEpochMilliseconds(date());
  const zoned = (zone = "UTC"): Record<string, () => unknown> => instant().toZonedDateTimeISO(zone);
  define(temporal.Now, "instant", instant);
  define(temporal.Now, "zonedDateTimeISO", zoned);
  for (const [name, method] of [
    ["plainDateTimeISO", "toPlainDateTime"],
    ["plainDateISO", "toPlainDate"],
    ["plainTimeISO", "toPlainTime"],
  ])
    define(temporal.Now, name, (zone?: string) => zoned(zone)[method]());
}

/** Channels and a page's messages to itself, by which libraries wait for the next turn: a timer of 0 ms that is never clamped. */
function installMessages(window: Page, time: VirtualTime): void {
  const deliver = (target: EventTarget, data: unknown, more: object): void => {
    time.add(
      () => {
        const event = new window.MessageEvent("message", { data, ...more });
        target.dispatchEvent(event);
      },
      0,
      [],
      false,
      false,
    );
  };
  class VirtualPort extends window.EventTarget {
    other: VirtualPort | null = null;
    #onmessage: EventListener | null = null;
    postMessage(data: unknown): void {
      if (this.other !== null) deliver(this.other, clone(window, data), {});
    }
    get onmessage(): EventListener | null {
      return this.#onmessage;
    }
    set onmessage(listener: EventListener | null) {
      if (this.#onmessage !== null) this.removeEventListener("message", this.#onmessage);
      this.#onmessage = listener;
      if (listener !== null) this.addEventListener("message", listener);
    }
    start(): void {}
    close(): void {
      if (this.other !== null) this.other.other = null;
      this.other = null;
    }
  }
  define(
    window,
    "MessageChannel",
    class {
      port1 = new VirtualPort();
      port2 = new VirtualPort();
      constructor() {
        this.port1.other = this.port2;
        this.port2.other = this.port1;
      }
    },
  );
  define(window, "postMessage", (data: unknown) =>
    deliver(window, clone(window, data), { source: window, origin: window.location.origin }),
  );
}

/** What a port hands over; what cannot be cloned goes as it is. */
function clone(window: Page, data: unknown): unknown {
  if (typeof data !== "object" || data === null) return data;
  try {
    return window.structuredClone(data);
  } catch {
    return data;
  }
}
