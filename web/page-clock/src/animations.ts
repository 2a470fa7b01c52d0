/** Animations and transitions on virtual time: they obey the page's orders, and their events come in the tick in which they fall. */

import { define, defineGetter, defineHandler, defineProperty } from "./overriding.ts";
import type { Pauses, VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;
type Phase = "idle" | "before" | "active" | "after";

/** How the page has an animation go. The browser's own is paused meanwhile, and is where this says. */
interface Course {
  /** Its current time in ms, as it was at the page's time `seen`. */
  at: number;
  seen: number;
  rate: number;
  isRunning: boolean;
  /** Whether `animation-play-state` decides: until a script gives an order. */
  obeysStyle: boolean;
  phase: Phase;
  iteration: number;
  /** Until the next frame; it has been asked to play or to pause since the last. */
  isPending: boolean;
}

/** A promise of an animation: `finished`, or `ready`. */
interface Settled {
  readonly promise: Promise<Animation>;
  isSettled: boolean;
  resolve(animation: Animation): void;
  reject(error: unknown): void;
}

const VENDOR: Readonly<Record<string, string>> = {
  animationstart: "webkitAnimationStart",
  animationiteration: "webkitAnimationIteration",
  animationend: "webkitAnimationEnd",
  transitionend: "webkitTransitionEnd",
};
/** Events of a transition from one phase to another, each with the end of its course that it tells of, 0 or 1; of a CSS animation without `run`. */
const EVENTS: Readonly<Record<string, string>> = {
  "idle before": "run0",
  "idle active": "run0 start0",
  "idle after": "run0 start0 end1",
  "before active": "start0",
  "before after": "start0 end1",
  "active after": "end1",
  "active before": "end0",
  "after active": "start1",
  "after before": "start1 end0",
};

export class Animations {
  readonly #window: Page;
  readonly #time: VirtualTime;
  readonly #courses = new Map<Animation, Course>();
  readonly #finished = new WeakMap<Animation, Settled>();
  readonly #ready = new WeakMap<Animation, Settled>();
  /** Animations that have ended and whose events were all sent. */
  readonly #ended = new WeakSet<Animation>();
  /** Listeners of animations, which no longer hear the browser's own events. */
  readonly #heard = new WeakMap<Animation, EventTarget>();
  /** What is to be dispatched in the next tick. */
  readonly #events: (() => void)[] = [];
  /** Whether a promise has been settled in this tick. */
  #hasSettled = false;
  readonly #own: ReturnType<typeof ownMembers>;

  constructor(window: Page, time: VirtualTime) {
    this.#window = window;
    this.#time = time;
    this.#own = ownMembers(window);
    this.#installOrders();
    this.#installListeners();
    const { prototype } = window.Element;
    const { animate } = prototype;
    const take = (animation: Animation) => this.#course(animation);
    define(prototype, "animate", function (this: Element, ...args: Parameters<typeof animate>) {
      const animation = animate.apply(this, args);
      take(animation);
      return animation;
    });
  }

  /** Takes over what has begun since the last call. Forces style: as often as the game needs it, no more. */
  collect(): void {
    for (const animation of this.#window.document.getAnimations()) this.#course(animation);
  }

  /** Finishes animations that were not taken over: element positions must not depend on real time. Forces style. */
  settle(): void {
    for (const animation of this.#window.document.getAnimations()) {
      if (this.#courses.has(animation)) continue;
      // An infinite one has no end.
      if (endOf(animation) === Number.POSITIVE_INFINITY) {
        this.#own.pause(animation);
        this.#own.setTime(animation, 0);
      } else this.#own.finish(animation);
    }
  }

  /** Moves those taken over to where they are now, and tells of that and of orders since, in its order. */
  advance(): Pauses | null {
    this.#hasSettled = false;
    this.#move();
    return this.#hasSettled || this.#events.length > 0 ? this.#tell() : null;
  }

  *#tell(): Pauses {
    // Promises go first: events of their orders follow at once.
    if (this.#hasSettled) yield;
    for (const event of this.#events.splice(0)) {
      yield* this.#time.pause();
      this.#time.call(event);
    }
  }

  #move(): void {
    for (const [animation, course] of [...this.#courses]) {
      if (!this.#courses.has(animation)) continue;
      const isOut = isCss(animation) && animation.timeline === null;
      if (this.#own.state(animation) === "idle" || isOut) {
        // The page's styles no longer have it.
        this.#drop(animation, course);
        continue;
      }
      course.isPending = false;
      this.#become(animation);
      if (course.obeysStyle) course.isRunning = this.#isRunningByStyle(animation);
      this.#settleTime(course);
      const end = endOf(animation);
      const isOver =
        course.isRunning && (course.rate > 0 ? course.at >= end : course.rate < 0 && course.at <= 0);
      if (isOver) course.at = course.rate > 0 ? end : 0;
      this.#own.setTime(animation, course.at);
      this.#publish(animation, course);
      if (isOver && this.#courses.get(animation) === course) this.#end(animation, course);
    }
  }

  /** That of an animation which has begun; null: it is over, or idle. */
  #course(animation: Animation): Course | null {
    const known = this.#courses.get(animation);
    if (known !== undefined) return known;
    const state = this.#own.state(animation);
    if (state === "idle" || state === "finished") return null;
    const course: Course = {
      at: state === "paused" ? Number(this.#own.time(animation) ?? 0) : 0,
      seen: this.#time.now,
      rate: this.#own.rate(animation),
      isRunning: state !== "paused",
      obeysStyle: "animationName" in animation,
      phase: this.#ended.has(animation) ? "after" : "idle",
      iteration: 0,
      isPending: true,
    };
    if (course.rate < 0 && course.isRunning) course.at = endOf(animation);
    this.#own.pause(animation);
    this.#own.setTime(animation, course.at);
    this.#courses.set(animation, course);
    return course;
  }

  /** Brings its current time up to date. */
  #settleTime(course: Course): void {
    if (course.isRunning) course.at += (this.#time.now - course.seen) * course.rate;
    course.seen = this.#time.now;
  }

  #isRunningByStyle(animation: Animation): boolean {
    const { target, pseudoElement } = (animation.effect ?? {}) as Partial<KeyframeEffect>;
    if (target == null) return true;
    const style = this.#window.getComputedStyle(target, pseudoElement);
    const names = style.animationName.split(", ");
    const states = style.animationPlayState.split(", ");
    const place = Math.max(0, names.indexOf((animation as CSSAnimation).animationName));
    return states[place % states.length] !== "paused";
  }

  #end(animation: Animation, course: Course): void {
    this.#courses.delete(animation);
    this.#ended.add(animation);
    this.#own.setRate(animation, course.rate);
    if (Number.isFinite(endOf(animation))) this.#own.finish(animation);
    this.#settle(animation);
  }

  #settle(animation: Animation): void {
    this.#become(animation);
    const finished = this.#promiseOf(this.#finished, animation);
    if (finished.isSettled) return;
    finished.isSettled = true;
    this.#hasSettled = true;
    finished.resolve(animation);
    this.#dispatch(animation, "finish", this.#own.time(animation));
  }

  /** It was removed: send the page its remaining events. */
  #drop(animation: Animation, course: Course): void {
    this.#courses.delete(animation);
    const { phase } = course;
    this.#ended.delete(animation);
    course.phase = "idle";
    if (phase === "before" || phase === "active")
      this.#event(animation, "cancel", activeTimeOf(animation, course));
    for (const promises of [this.#finished, this.#ready]) {
      const promise = promises.get(animation);
      if (promise !== undefined && !promise.isSettled)
        promise.reject(new this.#window.DOMException("The animation was cancelled", "AbortError"));
      promises.delete(animation);
    }
    this.#dispatch(animation, "cancel", null);
  }

  #promiseOf(promises: WeakMap<Animation, Settled>, animation: Animation): Settled {
    const known = promises.get(animation);
    if (known !== undefined) return known;
    let settle: Pick<Settled, "resolve" | "reject"> | undefined;
    const promise = new this.#window.Promise<Animation>((resolve, reject) => {
      settle = { resolve, reject };
    });
    // A page that waits for none of them has no error.
    promise.catch(() => undefined);
    const made = { promise, isSettled: false, ...(settle as Pick<Settled, "resolve" | "reject">) };
    promises.set(animation, made);
    return made;
  }

  /** What it was asked for is done. */
  #become(animation: Animation): void {
    const ready = this.#ready.get(animation);
    if (ready === undefined || ready.isSettled) return;
    ready.isSettled = true;
    this.#hasSettled = true;
    ready.resolve(animation);
  }

  /** It is asked to play or to pause: that comes into force in the next frame. */
  #await(animation: Animation, course: Course): void {
    course.isPending = true;
    if (this.#ready.get(animation)?.isSettled) this.#ready.delete(animation);
  }

  #dispatch(animation: Animation, type: "finish" | "cancel", currentTime: CSSNumberish | null): void {
    const timelineTime = this.#time.frameAt;
    const event = new this.#window.AnimationPlaybackEvent(type, { currentTime, timelineTime });
    for (const name of ["target", "currentTarget"]) defineGetter(event, name, () => animation);
    this.#events.push(() => void this.#heard.get(animation)?.dispatchEvent(event));
  }

  /** Tells of the phase that a CSS animation or a transition is in by now. */
  #publish(animation: Animation, course: Course): void {
    const { delay = 0, duration, activeDuration } = animation.effect?.getComputedTiming() ?? {};
    const begun = course.at - delay;
    const active = Number(activeDuration ?? 0);
    // Backwards it is over only where it began.
    const phase = begun < 0 ? "before" : begun >= active && course.rate >= 0 ? "after" : "active";
    const iteration =
      phase === "active" && Number(duration) > 0 ? Math.floor(begun / Number(duration)) : course.iteration;
    const before = course.phase;
    const hasNext = before === "active" && phase === "active" && iteration !== course.iteration;
    Object.assign(course, { phase, iteration });
    if (hasNext) this.#event(animation, "iteration", iteration * Number(duration));
    else {
      const ends = [Math.max(Math.min(-delay, active), 0), active];
      for (const one of (EVENTS[`${before} ${phase}`] ?? "").match(/\S+/g) ?? [])
        this.#event(animation, one.slice(0, -1), ends[Number(one.at(-1))]);
    }
  }

  #event(animation: Animation, name: string, elapsedMs: number): void {
    const { target, pseudoElement } = (animation.effect ?? {}) as Partial<KeyframeEffect>;
    if (target == null) return;
    const { AnimationEvent, TransitionEvent } = this.#window;
    const how = { bubbles: true, elapsedTime: elapsedMs / 1000, pseudoElement: pseudoElement ?? "" };
    const dispatch = (type: string): void => {
      const { animationName, transitionProperty: propertyName } = animation as CSSAnimation & CSSTransition;
      for (const each of [type, ...(type in VENDOR ? [VENDOR[type]] : [])])
        this.#events.push(
          () =>
            void target.dispatchEvent(
              type.startsWith("animation")
                ? new AnimationEvent(each, { ...how, animationName })
                : new TransitionEvent(each, { ...how, propertyName }),
            ),
        );
    };
    if ("transitionProperty" in animation) dispatch(`transition${name}`);
    else if ("animationName" in animation && name !== "run") dispatch(`animation${name}`);
  }

  /** What a page may order of an animation, and read of it. */
  #installOrders(): void {
    const { prototype } = this.#window.Animation;
    const own = this.#own;
    const order = (name: string, obey: (animation: Animation, given: unknown) => void): void =>
      define(prototype, name, function (this: Animation, given: unknown) {
        obey(this, given);
      });
    const isPast = ({ at, rate }: Course, end: number): boolean =>
      rate < 0 ? at <= 0 || at > end : at < 0 || at >= end;
    const play = (animation: Animation, turns: 1 | -1): void => {
      const rate = turns * (this.#courses.get(animation)?.rate ?? own.rate(animation));
      const isAnew = this.#course(animation) === null;
      own.setRate(animation, rate);
      own.play(animation);
      own.pause(animation);
      const course = this.#courses.get(animation) ?? (this.#course(animation) as Course);
      this.#settleTime(course);
      if (isAnew) course.at = Number(own.time(animation) ?? 0);
      this.#await(animation, course);
      Object.assign(course, { rate, isRunning: true, obeysStyle: false, seen: this.#time.now });
      const end = endOf(animation);
      if (isPast(course, end)) course.at = rate < 0 ? end : 0;
      own.setTime(animation, course.at);
      if (this.#finished.get(animation)?.isSettled) this.#finished.delete(animation);
    };
    order("play", (animation) => play(animation, 1));
    order("reverse", (animation) => play(animation, -1));
    order("pause", (animation) => {
      const course = this.#course(animation);
      if (course !== null) this.#settleTime(course);
      own.pause(animation);
      const paused = course ?? this.#course(animation);
      if (paused === null) return;
      if (paused.isRunning || course === null) this.#await(animation, paused);
      Object.assign(paused, { isRunning: false, obeysStyle: false });
    });
    order("finish", (animation) => {
      const course = this.#course(animation);
      own.setRate(animation, course?.rate ?? own.rate(animation));
      own.finish(animation);
      if (course !== null) {
        course.at = Number(own.time(animation));
        this.#courses.delete(animation);
        this.#ended.add(animation);
        this.#publish(animation, { ...course, isRunning: false });
      }
      this.#settle(animation);
    });
    order("cancel", (animation) => {
      const course = this.#course(animation);
      own.cancel(animation);
      if (course !== null) this.#drop(animation, course);
    });
    const rated = (animation: Animation, given: unknown): void => {
      const rate = Number(given);
      const course = this.#courses.get(animation);
      own.setRate(animation, rate);
      if (course === undefined) return;
      this.#settleTime(course);
      course.rate = rate;
      own.setTime(animation, course.at);
    };
    order("updatePlaybackRate", rated);
    const members: Record<
      string,
      [get: (animation: Animation) => unknown, set?: (animation: Animation, value: unknown) => void]
    > = {
      playbackRate: [(animation) => this.#courses.get(animation)?.rate ?? own.rate(animation), rated],
      playState: [
        (animation) => {
          const course = this.#courses.get(animation);
          if (course === undefined || own.state(animation) === "idle") return own.state(animation);
          if (!course.isRunning) return "paused";
          this.#settleTime(course);
          return course.rate < 0
            ? course.at <= 0
              ? "finished"
              : "running"
            : course.at < endOf(animation)
              ? "running"
              : "finished";
        },
      ],
      currentTime: [
        (animation) => {
          const course = this.#courses.get(animation);
          if (course === undefined) return own.time(animation);
          this.#settleTime(course);
          return course.at;
        },
        (animation, value) => {
          const course = this.#courses.get(animation);
          own.setTime(animation, value as CSSNumberish | null);
          const at = Number(own.time(animation) ?? 0);
          if (course !== undefined) Object.assign(course, { at, seen: this.#time.now });
          else this.#course(animation);
          const taken = this.#courses.get(animation);
          if (taken === undefined) return;
          if (course === undefined) Object.assign(taken, { at, isPending: false });
          if (this.#finished.get(animation)?.isSettled && !isPast(taken, endOf(animation)))
            this.#finished.delete(animation);
        },
      ],
      startTime: [
        (animation) => {
          const course = this.#courses.get(animation);
          if (course === undefined)
            return own.state(animation) === "finished" ? this.#time.now - endOf(animation) : null;
          return course.isRunning && !course.isPending ? course.seen - course.at / course.rate : null;
        },
        (animation, value) => {
          if (value === null) return animation.pause();
          if (this.#course(animation) === null) play(animation, 1);
          const course = this.#courses.get(animation) as Course;
          Object.assign(course, {
            isRunning: true,
            isPending: false,
            seen: this.#time.now,
            at: (this.#time.now - Number(value)) * course.rate,
          });
        },
      ],
      pending: [(animation) => this.#courses.get(animation)?.isPending === true],
      ready: [
        (animation) => {
          const ready = this.#promiseOf(this.#ready, animation);
          if (this.#courses.get(animation)?.isPending !== true && this.#course(animation)?.isPending !== true)
            this.#become(animation);
          return ready.promise;
        },
      ],
      finished: [
        (animation) => {
          this.#course(animation);
          const finished = this.#promiseOf(this.#finished, animation);
          if (!finished.isSettled && !this.#courses.has(animation) && own.state(animation) === "finished") {
            finished.isSettled = true;
            finished.resolve(animation);
          }
          return finished.promise;
        },
      ],
    };
    for (const [name, [get, set]] of Object.entries(members))
      defineProperty(prototype, name, {
        get(this: Animation) {
          return get(this);
        },
        ...(set === undefined
          ? {}
          : {
              set(this: Animation, value: unknown) {
                set(this, value);
              },
            }),
        configurable: true,
        enumerable: true,
      });
  }

  /** Its `finish` and `cancel` come by the clock, and not when the browser happens to draw. */
  #installListeners(): void {
    const { Animation, EventTarget } = this.#window;
    const heard = (animation: Animation): EventTarget => {
      const known = this.#heard.get(animation) ?? new EventTarget();
      this.#heard.set(animation, known);
      return known;
    };
    for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"] as const) {
      const method = EventTarget.prototype[name] as (...args: unknown[]) => unknown;
      define(Animation.prototype, name, function (this: Animation, ...args: unknown[]) {
        return method.apply(heard(this), args);
      });
    }
    for (const type of ["finish", "cancel", "remove"]) defineHandler(Animation.prototype, type, heard);
  }
}

function isCss(animation: Animation): boolean {
  return "animationName" in animation || "transitionProperty" in animation;
}

/** How far it has come since its delay, in ms. */
function activeTimeOf(animation: Animation, { at }: Course): number {
  const { delay = 0, activeDuration = 0 } = animation.effect?.getComputedTiming() ?? {};
  return Math.max(0, Math.min(at - delay, Number(activeDuration)));
}

function endOf(animation: Animation): number {
  return Number(animation.effect?.getComputedTiming().endTime ?? 0);
}

/** The browser's own members of animations, as they were before the page's scripts. */
function ownMembers(window: Page) {
  const { prototype } = window.Animation;
  const { play, pause, finish, cancel } = prototype;
  const member = (name: string) => Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
  const [time, state, rate] = ["currentTime", "playState", "playbackRate"].map(member);
  return {
    play: (animation: Animation) => play.call(animation),
    pause: (animation: Animation) => pause.call(animation),
    finish: (animation: Animation) => finish.call(animation),
    cancel: (animation: Animation) => cancel.call(animation),
    time: (animation: Animation): CSSNumberish | null => time.get?.call(animation),
    setTime: (animation: Animation, value: CSSNumberish | null) => time.set?.call(animation, value),
    state: (animation: Animation): AnimationPlayState => state.get?.call(animation),
    rate: (animation: Animation): number => rate.get?.call(animation),
    setRate: (animation: Animation, value: number) => rate.set?.call(animation, value),
  };
}
