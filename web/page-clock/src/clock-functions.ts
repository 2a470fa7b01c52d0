/** Everything by which a page reads time or waits for it, on virtual time. */

import { define, defineGetter, makerOf } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;
type Callback = (...args: unknown[]) => unknown;

/** How long the browser is idle at a time, and how often a page looks until that is over. */
const IDLE_MS = 8;
const IDLE_LOOKS = 50;

/** Times of the events that the trainer dispatches. All other events happen now. */
export const stamps = new WeakMap<Event, number>();

/** @param originMs the date at the page's time 0, in ms since 1970. */
export function installTime(window: Page, time: VirtualTime, originMs: number): void {
  installTimers(window, time);
  installClocks(window, time, originMs);
}

function installTimers(window: Page, time: VirtualTime): void {
  const set =
    (isRepeated: boolean) =>
    (callback: unknown, delay?: unknown, ...args: unknown[]): number =>
      time.add(callback, delay, args, isRepeated);
  define(window, "setTimeout", set(false));
  define(window, "setInterval", set(true));
  define(window, "setImmediate", (callback: unknown, ...args: unknown[]) => time.post(callback, 0, args));
  for (const name of ["clearTimeout", "clearInterval", "clearImmediate", "cancelIdleCallback"])
    define(window, name, (id: unknown) => time.remove(id));
  for (const [request, cancel] of [
    ["requestAnimationFrame", "cancelAnimationFrame"],
    ["webkitRequestAnimationFrame", "webkitCancelAnimationFrame"],
  ]) {
    define(window, request, (callback: Callback) => time.addFrame(callback));
    define(window, cancel, (id: unknown) => time.removeFrame(id));
  }
  const deadline = makerOf(window.IdleDeadline?.prototype ?? {});
  define(window, "requestIdleCallback", (callback: Callback) => {
    // Work in idle time ends as its time does: each look takes a share of it.
    let left = IDLE_MS;
    const timeRemaining = (): number => {
      const now = left;
      left = Math.max(0, left - IDLE_MS / IDLE_LOOKS);
      return now;
    };
    const idle = deadline({ didTimeout: false, timeRemaining });
    return time.post(() => callback(idle), 1);
  });
  const later = (delay: number): Promise<void> => new Promise((resolve) => time.post(resolve, delay));
  const { Scheduler } = window as unknown as { Scheduler?: { prototype: object } };
  const scheduler = Scheduler?.prototype ?? {};
  if (Scheduler === undefined) define(window, "scheduler", scheduler);
  define(scheduler, "yield", () => later(0));
  define(
    scheduler,
    "postTask",
    async (callback: () => unknown, options?: { delay?: number; signal?: AbortSignal }) => {
      await later(options?.delay ?? 0);
      options?.signal?.throwIfAborted();
      return callback();
    },
  );
  define(window.AbortSignal, "timeout", (delay: number) => {
    const controller = new window.AbortController();
    const late = () => controller.abort(new window.DOMException("signal timed out", "TimeoutError"));
    time.post(late, delay);
    return controller.signal;
  });
}

function installClocks(window: Page, time: VirtualTime, originMs: number): void {
  const date = (): number => originMs + Math.floor(time.look());
  define(window.Performance.prototype, "now", time.look);
  defineGetter(window.Performance.prototype, "timeOrigin", () => originMs);
  const { Date: Real } = window;
  // Dates that the browser makes, such as clones, are of the same class.
  const called: DateConstructor = new Proxy(Real, {
    apply: () => new Real(date()).toString(),
    construct: (_, args, made) =>
      Reflect.construct(Real, args.length === 0 ? [date()] : args, made === called ? Real : made),
  });
  define(Real, "now", date);
  define(window, "Date", called);
  defineGetter(window.Event.prototype, "timeStamp", function (this: Event) {
    const stamp = stamps.get(this) ?? time.look();
    stamps.set(this, stamp);
    return stamp;
  });
  defineGetter(window.AnimationTimeline.prototype, "currentTime", () => time.frameAt);
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
  const { prototype } = window.Performance;
  const { mark, measure } = prototype;
  const isGiven = (options: unknown): options is object => typeof options === "object" && options !== null;
  define(prototype, "mark", function (this: Performance, ...args: [string?, PerformanceMarkOptions?]) {
    const [name, options] = args;
    if (args.length === 0 || (options != null && !isGiven(options)))
      return mark.apply(this, args as Parameters<typeof mark>);
    return mark.call(this, String(name), { ...options, startTime: options?.startTime ?? time.look() });
  });
  define(prototype, "measure", function (this: Performance, ...args: [string?, unknown?, string?]) {
    const [name, from, to] = args;
    const options = isGiven(from) ? (from as PerformanceMeasureOptions) : {};
    const isEmpty = from == null || (isGiven(from) && Object.keys(from).length === 0);
    const isOpen = options.end === undefined && options.duration === undefined;
    // All else reads no clock, or is the browser's to refuse.
    const readsClock = isEmpty || (isOpen && (!isGiven(from) || options.start !== undefined));
    if (args.length === 0 || to !== undefined || !readsClock)
      return measure.apply(this, args as Parameters<typeof measure>);
    const start = isEmpty || isGiven(from) ? {} : { start: String(from) };
    return measure.call(this, String(name), { ...options, ...start, end: time.look() });
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
