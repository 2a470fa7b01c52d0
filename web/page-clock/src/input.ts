/** Keys and a pointer as the policy holds them: the events of a browser in its order, stamped with virtual time. */

import type { PointerHow } from "../../sdk/src/page-adapter.ts";
import { POINTER_INPUTS } from "../../sdk/src/page-inputs.gen.ts";
import { stamps } from "./clock-functions.ts";
import { Dismissal } from "./dismissal.ts";
import { Drag, isDraggable } from "./drag.ts";
import { commonAncestor, elementAt, pathOf, scrollFrom } from "./element-paths.ts";
import type { Focus } from "./focus.ts";
import { Gamepad } from "./gamepad.ts";
import { KeyActions } from "./key-actions.ts";
import { keyOf, MODIFIERS } from "./key-codes.ts";
import { installCapture, type Point, Pointer } from "./pointer.ts";
import { touchEvent } from "./touch.ts";

type Page = Window & typeof globalThis;

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
/** A finger that has gone farther taps nothing; a mouse that has drags what can be. */
const SLIDE_PX = 15;
const DRAG_PX = 3;
const MOUSE_ID = 1;
/** What the wheel says in the old way for a pixel. */
const WHEEL_DELTA = -1.2;
/** Each bit of `MouseEvent.buttons`, and its `MouseEvent.button`. */
const BUTTONS = [
  [1, 0],
  [2, 2],
  [4, 1],
] as const;
/** Events that disabled form controls, and what lies in them, do not get. */
const NOT_ON_DISABLED = /^(?:mousedown|mouseup|click|auxclick|dblclick)$/;
/** What pointers that are taken away say. */
const GONE = { clientX: 0, clientY: 0, screenX: 0, screenY: 0, buttons: 0 };

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
  readonly #mouse = new Pointer(MOUSE_ID);
  /** Those that touch, the first one first. */
  readonly #fingers: Pointer[] = [];
  readonly #pad: Gamepad;
  /** Whether the page has prevented the mouse's events until its release, or the click of a tap. */
  #isSilent = false;
  /** Whether a drag begins where the mouse moves on. */
  #canDrag = false;
  #drag: Drag | null = null;
  #clicks = {
    count: 0,
    button: 0,
    at: Number.NEGATIVE_INFINITY,
    point: [0, 0] as Point,
    target: null as Element | null,
  };
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
    this.#pad = new Gamepad(window, time, dispatch);
    focus.onLeave = (element) => this.#actions.leave(element);
  }

  /** Gives elements `setPointerCapture` and its like, for the pointers that are made here. Only for a page of a clock. */
  installCapture(): void {
    installCapture(this.#window, () => [this.#mouse, ...this.#fingers]);
  }

  /** The page has a gamepad from now on. */
  connectPad(): void {
    this.#pad.connect();
  }

  /** Exactly these keys (`KeyboardEvent.code`) are down from now on: what differs is pressed and released. */
  hold(codes: readonly string[]): void {
    for (const code of this.#held) {
      if (codes.includes(code)) continue;
      this.#held.delete(code);
      if (!this.#pad.set(code, false)) this.#key("keyup", code);
    }
    for (const code of codes) {
      if (this.#held.has(code)) continue;
      this.#held.add(code);
      if (!this.#pad.set(code, true)) this.#key("keydown", code);
    }
  }

  /**
   * The pointer is at `point` from now on, pressed or what else `how` says: moves, presses, releases and clicks follow.
   *
   * @param second where a second finger is.
   */
  point(point: Point, how: boolean | PointerHow, second?: Point): void {
    const row = POINTER_INPUTS[typeof how === "string" ? how : how ? "press" : "move"];
    const { buttons, clicks, wheel } = row;
    if (this.#options.isTouch) {
      const points = second === undefined ? [point] : [point, second];
      // What is let go goes there first.
      this.#touch(buttons === 0 ? points.slice(0, this.#fingers.length) : points);
      if (buttons === 0) this.#touch([]);
      return;
    }
    const mouse = this.#mouse;
    const [x, y] = point;
    const [left, top] = mouse.point;
    if (x !== left || y !== top) {
      mouse.point = point;
      if (this.#drag !== null) this.#drag.move(this.#under(mouse), this.#how(mouse));
      else {
        this.#move({ movementX: x - left, movementY: y - top });
        if (this.#canDrag) this.#beginDrag();
      }
    }
    if (buttons !== mouse.buttons) {
      for (const [bit, button] of BUTTONS)
        if ((mouse.buttons & bit & ~buttons) !== 0) this.#release(bit, button);
      for (const [bit, button] of BUTTONS) {
        if ((buttons & bit & ~mouse.buttons) === 0) continue;
        this.#press(bit, button);
        for (let i = 1; i < clicks; i++) {
          this.#release(bit, button);
          this.#press(bit, button);
        }
      }
    }
    if (wheel !== 0) this.#turn(wheel);
  }

  #move(more: MouseEventInit): void {
    const isLocked = this.#options.lock?.element != null;
    this.#both("pointermove", "mousemove", this.#target(this.#mouse), more, isLocked ? {} : { button: -1 });
  }

  #press(bit: number, button: number): void {
    const mouse = this.#mouse;
    const isFirst = mouse.buttons === 0;
    mouse.buttons |= bit;
    const target = this.#target(mouse);
    this.#count(target, button);
    [mouse.pressed, mouse.from] = [target, mouse.point];
    const isFree = this.#both(isFirst ? "pointerdown" : "pointermove", "mousedown", target, { button });
    if (isFree) this.#focus.press(target);
    this.#canDrag = isFree && !this.#isSilent && button === 0;
    if (button === 2) this.#send(mouse, "contextmenu", target, { button, isPrimary: false });
  }

  #release(bit: number, button: number): void {
    const mouse = this.#mouse;
    mouse.buttons &= ~bit;
    this.#canDrag = false;
    if (this.#drag !== null) {
      this.#drag.drop(this.#under(mouse), this.#how(mouse));
      this.#drag = null;
      mouse.pressed = null;
      return;
    }
    const target = this.#target(mouse);
    const isLast = mouse.buttons === 0;
    this.#both(isLast ? "pointerup" : "pointermove", "mouseup", target, { button });
    this.#click(mouse, target, button);
  }

  /** The events of a pointer and of a mouse. After a press that the page has prevented come none of a mouse until its release. */
  #both(
    name: string,
    mouseName: string,
    target: Element,
    more: MouseEventInit,
    own: PointerEventInit = {},
  ): boolean {
    const mouse = this.#mouse;
    this.#enter(mouse, target, more);
    const isFree = this.#send(mouse, name, target, { ...more, ...own });
    if (name === "pointerdown") this.#isSilent = !isFree;
    const isSilent = this.#isSilent;
    if (name === "pointerup") this.#isSilent = false;
    return isSilent || this.#say(mouse, mouseName, target, more);
  }

  /** What a press that ends on `target` has clicked. */
  #click(pointer: Pointer, target: Element, button: number): void {
    const { pressed } = pointer;
    if (pressed !== null && button === 0) this.#dismissal.press(pressed, target, pointer.point);
    const clicked = this.#clicks.button === button ? commonAncestor(pressed, target) : null;
    if (this.#clicks.button === button) pointer.pressed = null;
    if (pointer.buttons === 0) {
      pointer.wanted = null;
      this.#capture(pointer);
    }
    if (clicked === null) return;
    this.#say(pointer, button === 0 ? "click" : "auxclick", clicked, { button });
    if (this.#clicks.count === 2 && button === 0) this.#say(pointer, "dblclick", clicked);
  }

  /** A wheel that the page does not prevent scrolls what is under the mouse, or what that lies in. */
  #turn(deltaY: number): void {
    const target = this.#under(this.#mouse);
    const how = { ...this.#how(this.#mouse), deltaY, wheelDeltaY: WHEEL_DELTA * deltaY };
    if (this.#dispatch(target, new this.#window.WheelEvent("wheel", how)))
      scrollFrom(this.#window, target, deltaY);
  }

  /** As Chromium drags and drops: meanwhile a mouse sends no other events. */
  #beginDrag(): void {
    const mouse = this.#mouse;
    const [x, y] = mouse.from;
    if (Math.max(Math.abs(mouse.point[0] - x), Math.abs(mouse.point[1] - y)) < DRAG_PX) return;
    this.#canDrag = false;
    const source = pathOf(mouse.pressed).find((one) => isDraggable(this.#window, one));
    if (source === undefined || this.#options.lock?.element != null) return;
    const how = this.#how(mouse);
    const drag = new Drag(this.#window, source, (target, event) => this.#dispatch(target, event));
    if (!drag.begin({ ...how, clientX: x, clientY: y, screenX: x, screenY: y })) return;
    this.#drag = drag;
    this.#send(mouse, "pointercancel", this.#target(mouse), { ...GONE, cancelable: false });
    mouse.wanted = null;
    this.#capture(mouse);
    this.#enter(mouse, null, GONE, ["pointer"]);
    this.#isSilent = false;
    drag.move(this.#under(mouse), how);
  }

  /** Fingers are nowhere until they touch; what each touches first gets all of it, and a mouse's events where one only tapped. */
  #touch(points: readonly Point[]): void {
    const fingers = this.#fingers;
    const moved = fingers.filter(({ point }, i) => {
      const now = points[i];
      return now !== undefined && (now[0] !== point[0] || now[1] !== point[1]);
    });
    // Chromium sends the event of the last one first.
    for (const finger of moved.toReversed()) {
      const [x, y] = finger.point;
      finger.point = points[fingers.indexOf(finger)];
      const [fromX, fromY] = finger.from;
      const slid = Math.hypot(finger.point[0] - fromX, finger.point[1] - fromY);
      if (slid > SLIDE_PX) this.#isSilent = true;
      const how = { button: -1, movementX: finger.point[0] - x, movementY: finger.point[1] - y };
      this.#send(finger, "pointermove", this.#target(finger), how);
    }
    for (const target of new Set(moved.toReversed().map(({ pressed }) => pressed)))
      this.#sayTouch("touchmove", target as Element, moved);
    while (fingers.length > points.length) {
      const [finger] = fingers.splice(points.length, 1);
      this.#liftFinger(finger, fingers.length === 0);
    }
    for (const point of points.slice(fingers.length)) {
      // A second finger makes it no tap.
      this.#isSilent = fingers.length > 0;
      const finger = new Pointer(MOUSE_ID + 1 + fingers.length, point);
      fingers.push(finger);
      finger.buttons = 1;
      const target = this.#under(finger);
      [finger.pressed, finger.wanted] = [target, target];
      this.#count(target, 0);
      this.#enter(finger, target, {}, ["pointer"]);
      this.#send(finger, "pointerdown", target);
      if (!this.#sayTouch("touchstart", target, [finger])) this.#isSilent = true;
    }
  }

  #liftFinger(finger: Pointer, isLast: boolean): void {
    const target = finger.pressed as Element;
    const captured = this.#target(finger);
    finger.buttons = 0;
    this.#send(finger, "pointerup", captured);
    finger.wanted = null;
    this.#capture(finger);
    this.#enter(finger, null, {}, ["pointer"]);
    const isFree = this.#sayTouch("touchend", target, [finger]);
    if (!isFree || !isLast || this.#isSilent) return;
    this.#say(finger, "mousemove", target);
    if (this.#say(finger, "mousedown", target, { buttons: 1 })) this.#focus.press(target);
    this.#say(finger, "mouseup", target);
    this.#click(finger, target, 0);
  }

  #sayTouch(type: string, target: Element, changed: readonly Pointer[]): boolean {
    const how = this.#how(changed[0]);
    return this.#dispatch(target, touchEvent(this.#window, type, target, this.#fingers, changed, how));
  }

  /** Release the pointer. */
  lift(): void {
    if (this.#options.isTouch) this.#touch([]);
    else this.point(this.#mouse.point, false);
  }

  /** Release everything. */
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

  /** What gets a pointer's events: what has captured it, or holds its lock, else what is under it. */
  #target(pointer: Pointer): Element {
    this.#capture(pointer);
    return this.#options.lock?.element ?? pointer.captured ?? this.#under(pointer);
  }

  #under({ point }: Pointer): Element {
    this.#options.beforeLooking?.();
    return elementAt(this.#window.document, point);
  }

  /** What was asked for by `setPointerCapture` comes into force before the next event of the pointer. */
  #capture(pointer: Pointer): void {
    if (pointer.wanted?.isConnected === false) pointer.wanted = null;
    const [before, now] = [pointer.captured, pointer.wanted];
    if (before === now) return;
    pointer.captured = now;
    if (before?.isConnected) this.#send(pointer, "lostpointercapture", before, { cancelable: false });
    if (now !== null) this.#send(pointer, "gotpointercapture", now, { cancelable: false });
  }

  /** The mouse left for `point` elsewhere and is no longer pressed here. */
  leave(point: Point): void {
    this.lift();
    if (this.#mouse.over === null) return;
    this.#mouse.point = point;
    this.#enter(this.#mouse, null, {});
  }

  /** Tells what a pointer leaves and what it comes to; null: it is nowhere. */
  #enter(
    pointer: Pointer,
    target: Element | null,
    more: MouseEventInit,
    kinds: readonly ("pointer" | "mouse")[] = ["pointer", "mouse"],
  ): void {
    const before = pointer.over?.isConnected ? pointer.over : null;
    if (before === target) return;
    pointer.over = target;
    const [left, entered] = [pathOf(before), pathOf(target)];
    const button = this.#options.isTouch ? 0 : -1;
    for (const kind of kinds) {
      const send = (name: string, to: Element, relatedTarget: Element | null, bubbles: boolean): void => {
        const how = { ...more, relatedTarget, bubbles, cancelable: bubbles, composed: bubbles };
        if (kind === "pointer") this.#send(pointer, `pointer${name}`, to, { ...how, button });
        else this.#say(pointer, `mouse${name}`, to, how);
      };
      if (before !== null) send("out", before, target, true);
      for (const one of left) if (!entered.includes(one)) send("leave", one, target, false);
      if (target === null) continue;
      send("over", target, before, true);
      for (const one of entered.toReversed()) if (!left.includes(one)) send("enter", one, before, false);
    }
  }

  /** An event of a pointer. */
  #send(pointer: Pointer, type: string, target: Element, more: PointerEventInit = {}): boolean {
    const how = {
      pointerId: pointer.id,
      isPrimary: pointer.id <= MOUSE_ID + 1,
      pointerType: this.#options.isTouch ? "touch" : "mouse",
      pressure: pointer.buttons === 0 ? 0 : 0.5,
    };
    const { PointerEvent } = this.#window;
    return this.#dispatch(target, new PointerEvent(type, { ...this.#how(pointer), ...how, ...more }));
  }

  /** An event of a mouse; clicks are a pointer's. */
  #say(pointer: Pointer, type: string, target: Element, more: MouseEventInit = {}): boolean {
    if (NOT_ON_DISABLED.test(type) && target.closest(":disabled") !== null) return true;
    const detail = /down|up|click/.test(type) ? this.#clicks.count : 0;
    const how = { ...this.#how(pointer), detail, ...more };
    if (type !== "click" && type !== "auxclick")
      return this.#dispatch(target, new this.#window.MouseEvent(type, how));
    return this.#send(pointer, type, target, { ...how, isPrimary: false });
  }

  /** A press soon after another one in the same place is the second of a double click. */
  #count(target: Element, button: number): void {
    const last = this.#clicks;
    const { point } = this.#fingers.at(-1) ?? this.#mouse;
    const isSame = target === last.target && button === last.button;
    const isSoon = this.#time.now - last.at <= DOUBLE_MS;
    const isHere = Math.hypot(point[0] - last.point[0], point[1] - last.point[1]) <= DOUBLE_PX;
    const count = isSame && isSoon && isHere ? last.count + 1 : 1;
    this.#clicks = { count, button, at: this.#time.now, point, target };
  }

  #how({ point: [x, y], buttons }: Pointer): MouseEventInit {
    return {
      clientX: x,
      clientY: y,
      screenX: x,
      screenY: y,
      button: 0,
      buttons,
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
