/** Keys and a pointer as the policy holds them: the events of a browser in its order, stamped with virtual time. */

import { stamps } from "./clock-functions.ts";
import { pathOf } from "./composed-tree.ts";
import { Dismissal } from "./dismissal.ts";
import type { Focus } from "./focus.ts";
import { KeyActions } from "./key-actions.ts";
import { keyOf, MODIFIERS } from "./key-codes.ts";
import { touchEvent } from "./touch.ts";

type Page = Window & typeof globalThis;

/** Where the pointer is, in CSS pixels of the page's window. */
export type Point = readonly [x: number, y: number];

/** What the clock holds of pointer lock; a page that is looked at has the browser's own. */
export interface Lock {
  readonly element: Element | null;
}

export interface InputOptions {
  /** Called before it is looked what is under the pointer. Default: nothing, time is real. */
  beforeLooking?(): void;
  lock?: Lock;
  /** Whether the pointer is a finger. Default: no, a mouse. */
  isTouch?: boolean;
}

/** Milliseconds and pixels within which a second click makes a double click. */
const DOUBLE_MS = 500;
const DOUBLE_PX = 5;
/** A finger that has gone farther taps nothing. */
const SLIDE_PX = 15;
const POINTER_ID = 1;
/** Not told of a form control that is disabled, nor of what lies in it. */
const NOT_ON_DISABLED = /^(?:mousedown|mouseup|click|dblclick)$/;

interface InputTime {
  readonly now: number;
  enter?(): void;
}

export class Input {
  readonly #window: Page;
  readonly #time: InputTime;
  readonly #focus: Focus;
  readonly #actions: KeyActions;
  readonly #dismissal: Dismissal;
  readonly #held = new Set<string>();
  #point: Point = [0, 0];
  #isDown = false;
  #isSilent = false;
  /** Under the pointer when it went down. */
  #pressed: Element | null = null;
  /** What the pointer is over, and has been told so. */
  #over: Element | null = null;
  /** What has asked for all events of the pointer, and what gets them. */
  #wanted: Element | null = null;
  #captured: Element | null = null;
  #clicks = {
    count: 0,
    at: Number.NEGATIVE_INFINITY,
    point: [0, 0] as Point,
    target: null as Element | null,
  };
  /** Whether a finger has slid since it went down, from where it did: then it taps nothing. */
  #slid = false;
  #from: Point = [0, 0];
  readonly #options: InputOptions;

  /** @param time what events are stamped with, in milliseconds. */
  constructor(window: Page, time: InputTime, focus: Focus, options: InputOptions = {}) {
    this.#window = window;
    this.#time = time;
    this.#focus = focus;
    this.#options = options;
    const dispatch = (target: EventTarget, event: Event): boolean => this.#dispatch(target, event);
    this.#dismissal = new Dismissal(window, dispatch);
    this.#actions = new KeyActions(window, focus, dispatch, this.#dismissal);
    focus.onLeave = (element) => this.#actions.leave(element);
  }

  /** Gives elements `setPointerCapture` and its like, for the pointer that is made here. Only for a page of a clock. */
  installCapture(): void {
    const { prototype } = this.#window.Element;
    const input = this;
    const check = (id: number): void => {
      if (id !== POINTER_ID)
        throw new this.#window.DOMException("No active pointer with the given id is found.", "NotFoundError");
    };
    Object.assign(prototype, {
      setPointerCapture(this: Element, id: number): void {
        check(id);
        if (!this.isConnected)
          throw new input.#window.DOMException("The element is not connected.", "InvalidStateError");
        if (input.#isDown) input.#wanted = this;
      },
      releasePointerCapture(this: Element, id: number): void {
        check(id);
        if (input.#wanted === this) input.#wanted = null;
      },
      hasPointerCapture(this: Element, id: number): boolean {
        return id === POINTER_ID && input.#wanted === this;
      },
    });
  }

  /** Exactly these keys (`KeyboardEvent.code`) are down from now on: what differs is pressed and released. */
  hold(codes: readonly string[]): void {
    for (const code of this.#held) {
      if (codes.includes(code)) continue;
      this.#held.delete(code);
      this.#key("keyup", code);
    }
    for (const code of codes) {
      if (this.#held.has(code)) continue;
      this.#held.add(code);
      this.#key("keydown", code);
    }
  }

  /** The pointer is at `point` from now on, pressed or not: moves, presses, releases and clicks follow. */
  point(point: Point, isDown: boolean): void {
    if (this.#options.isTouch) {
      this.#finger(point, isDown);
      return;
    }
    const [x, y] = point;
    const [left, top] = this.#point;
    if (x !== left || y !== top) {
      this.#point = point;
      const moved = { movementX: x - left, movementY: y - top };
      this.#pointer("move", this.#target(), moved);
    }
    if (isDown === this.#isDown) return;
    this.#isDown = isDown;
    const target = this.#target();
    if (isDown) {
      this.#count(target);
      this.#pressed = target;
      if (this.#pointer("down", target)) this.#focus.press(target);
      return;
    }
    this.#pointer("up", target);
    this.#click(target);
  }

  /** What a press that ends on `target` has clicked. */
  #click(target: Element): void {
    if (this.#pressed !== null) this.#dismissal.press(this.#pressed, target, this.#point);
    const clicked = commonAncestor(this.#pressed, target);
    this.#pressed = null;
    this.#wanted = null;
    this.#capture();
    if (clicked === null) return;
    this.#mouse("click", clicked);
    if (this.#clicks.count === 2) this.#mouse("dblclick", clicked);
  }

  /** A finger is nowhere until it touches; what it touches first gets all of it, and a mouse's events where it only tapped. */
  #finger(point: Point, isDown: boolean): void {
    const wasDown = this.#isDown;
    if (!wasDown && !isDown) return;
    const hasMoved = point[0] !== this.#point[0] || point[1] !== this.#point[1];
    const touch = (type: string, target: Element): boolean =>
      this.#dispatch(target, touchEvent(this.#window, type, target, this.#point, this.#isDown, this.#how()));
    if (!wasDown) {
      [this.#point, this.#from, this.#slid, this.#isDown] = [point, point, false, true];
      const target = this.#target();
      [this.#pressed, this.#wanted] = [target, target];
      this.#count(target);
      this.#enter(target, {}, ["pointer"]);
      this.#send("pointerdown", target);
      this.#isSilent = !touch("touchstart", target);
      this.#capture();
      return;
    }
    const target = this.#pressed as Element;
    if (hasMoved) {
      this.#point = point;
      this.#slid ||= Math.hypot(point[0] - this.#from[0], point[1] - this.#from[1]) > SLIDE_PX;
      this.#send("pointermove", target);
      touch("touchmove", target);
    }
    if (isDown) return;
    this.#isDown = false;
    this.#send("pointerup", target);
    for (const one of ["pointerout", "pointerleave"])
      this.#send(one, target, { bubbles: one === "pointerout" });
    this.#over = null;
    const isFree = touch("touchend", target) && !this.#isSilent && !this.#slid;
    this.#wanted = null;
    this.#capture();
    if (!isFree) {
      this.#pressed = null;
      return;
    }
    this.#mouse("mousemove", target);
    if (this.#mouse("mousedown", target, { buttons: 1 })) this.#focus.press(target);
    this.#mouse("mouseup", target);
    this.#click(target);
  }

  /** The pointer is not pressed any more. */
  lift(): void {
    this.point(this.#point, false);
  }

  /** Nothing is held any more. */
  release(): void {
    this.hold([]);
    this.lift();
  }

  #key(type: "keydown" | "keyup", code: string): void {
    const modifiers = this.#modifiers();
    const [key, keyCode] = keyOf(code, modifiers.shiftKey === true);
    const side = /(?:Shift|Control|Alt|Meta)(?:Left|(Right))$/.exec(code);
    const location = code.startsWith("Numpad") ? 3 : side === null ? 0 : side[1] === undefined ? 1 : 2;
    const { KeyboardEvent, document } = this.#window;
    const how = {
      key,
      code,
      keyCode,
      which: keyCode,
      location,
      bubbles: true,
      cancelable: true,
      composed: true,
      ...modifiers,
    };
    const target = this.#focus.element ?? document;
    if (!this.#dispatch(target, new KeyboardEvent(type, how))) return;
    const isElement = target instanceof this.#window.Element;
    if (type === "keyup") {
      if (isElement) this.#actions.release(target, key);
      return;
    }
    const hasNoCommand =
      modifiers.ctrlKey !== true && modifiers.altKey !== true && modifiers.metaKey !== true;
    if (key.length === 1 || key === "Enter") {
      const charCode = key === "Enter" ? 13 : key.charCodeAt(0);
      const pressed = { ...how, charCode, keyCode: charCode, which: charCode } as KeyboardEventInit;
      if (!this.#dispatch(this.#focus.element ?? document, new KeyboardEvent("keypress", pressed))) return;
    }
    const focused = this.#focus.element;
    if (hasNoCommand && focused !== null) this.#actions.press(focused, key, modifiers.shiftKey === true);
  }

  #modifiers(): Record<string, boolean> {
    const modifiers: Record<string, boolean> = {};
    for (const held of this.#held) {
      const modifier = MODIFIERS[keyOf(held, false)[0]];
      if (modifier !== undefined) modifiers[modifier] = true;
    }
    return modifiers;
  }

  /** What is under the pointer, in whatever shadow; what has captured it, or holds its lock. */
  #target(): Element {
    this.#capture();
    const locked = this.#options.lock?.element;
    if (locked != null) return locked;
    if (this.#captured !== null) return this.#captured;
    const { document } = this.#window;
    this.#options.beforeLooking?.();
    const place = this.#point as [number, number];
    let found = document.elementFromPoint(...place) ?? document.documentElement;
    for (let inner = found.shadowRoot?.elementFromPoint(...place); inner && inner !== found; ) {
      found = inner;
      inner = found.shadowRoot?.elementFromPoint(...place);
    }
    return found;
  }

  /** What was asked for by `setPointerCapture` comes into force before the next event of the pointer. */
  #capture(): void {
    if (this.#wanted?.isConnected === false) this.#wanted = null;
    const [before, now] = [this.#captured, this.#wanted];
    if (before === now) return;
    this.#captured = now;
    if (before?.isConnected) this.#send("lostpointercapture", before);
    if (now !== null) this.#send("gotpointercapture", now);
  }

  /** @returns whether nothing prevented what follows it. */
  #pointer(type: "move" | "down" | "up", target: Element, more: MouseEventInit = {}): boolean {
    this.#enter(target, more);
    const isLocked = this.#options.lock?.element != null;
    const move = type === "move" ? { ...more, ...(isLocked ? {} : { button: -1 }) } : more;
    const isFree = this.#send(`pointer${type}`, target, move);
    // After a press that the page has prevented come no mouse events until its release.
    if (type === "down") this.#isSilent = !isFree;
    const isSilent = this.#isSilent;
    if (type === "up") this.#isSilent = false;
    return isSilent || this.#mouse(`mouse${type}`, target, more);
  }

  /** The pointer is elsewhere, at `point`, and not pressed here any more. */
  leave(point: Point): void {
    this.lift();
    if (this.#over === null || this.#options.isTouch) return;
    this.#point = point;
    this.#enter(null, {});
  }

  /** Tells what the pointer leaves and what it comes to; null: nothing of this window. */
  #enter(
    target: Element | null,
    more: MouseEventInit,
    kinds: readonly ("pointer" | "mouse")[] = ["pointer", "mouse"],
  ): void {
    const before = this.#over?.isConnected ? this.#over : null;
    if (before === target) return;
    this.#over = target;
    const [left, entered] = [pathOf(before), pathOf(target)];
    for (const kind of kinds) {
      const send = (name: string, to: Element, relatedTarget: Element | null, bubbles: boolean): void => {
        const how = { ...more, relatedTarget, bubbles, cancelable: bubbles, composed: bubbles };
        if (kind === "pointer")
          this.#send(`pointer${name}`, to, { ...how, button: this.#options.isTouch ? 0 : -1 });
        else this.#mouse(`mouse${name}`, to, how);
      };
      if (before !== null) send("out", before, target, true);
      for (const one of left) if (!entered.includes(one)) send("leave", one, target, false);
      if (target !== null) send("over", target, before, true);
      for (const one of entered.toReversed()) if (!left.includes(one)) send("enter", one, before, false);
    }
  }

  #send(type: string, target: Element, more: PointerEventInit = {}): boolean {
    const how = {
      pointerId: POINTER_ID,
      isPrimary: true,
      pointerType: this.#options.isTouch ? "touch" : "mouse",
      pressure: this.#isDown ? 0.5 : 0,
    };
    return this.#dispatch(target, new this.#window.PointerEvent(type, { ...this.#how(), ...how, ...more }));
  }

  #mouse(type: string, target: Element, more: MouseEventInit = {}): boolean {
    if (NOT_ON_DISABLED.test(type) && target.closest(":disabled") !== null) return true;
    const detail = /down|up|click/.test(type) ? this.#clicks.count : 0;
    const how = { ...this.#how(), detail, ...more };
    if (type !== "click") return this.#dispatch(target, new this.#window.MouseEvent(type, how));
    return this.#send("click", target, how);
  }

  /** A press soon after another one in the same place is the second of a double click. */
  #count(target: Element): void {
    const { at, point, count } = this.#clicks;
    const isSoon = this.#time.now - at <= DOUBLE_MS && target === this.#clicks.target;
    const isHere = Math.hypot(this.#point[0] - point[0], this.#point[1] - point[1]) <= DOUBLE_PX;
    this.#clicks = {
      count: isSoon && isHere ? count + 1 : 1,
      at: this.#time.now,
      point: this.#point,
      target,
    };
  }

  #how(): MouseEventInit {
    const [x, y] = this.#point;
    return {
      clientX: x,
      clientY: y,
      screenX: x,
      screenY: y,
      button: 0,
      buttons: this.#isDown ? 1 : 0,
      bubbles: true,
      cancelable: true,
      composed: true,
      view: this.#window,
      ...this.#modifiers(),
    };
  }

  /** @returns whether nothing prevented what the browser does by itself. */
  #dispatch(target: EventTarget, event: Event): boolean {
    stamps.set(event, this.#time.now);
    this.#time.enter?.();
    // The browser reports a listener's error to the window.
    return target.dispatchEvent(event);
  }
}

/** The nearest element that holds both, or is one of them: browsers give it the click. Null: there is none any more. */
function commonAncestor(one: Element | null, other: Element): Element | null {
  const others = pathOf(other);
  return pathOf(one).find((element) => others.includes(element)) ?? null;
}
