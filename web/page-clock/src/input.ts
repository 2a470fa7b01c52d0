/** Keys and a pointer as the policy holds them: events that the page cannot tell from a person's, stamped with virtual time. */

import { stamps } from "./clock-functions.ts";
import type { Focus } from "./focus.ts";

type Page = Window & typeof globalThis;

/** `KeyboardEvent.code` to what `key` and the old `keyCode` say, for an American keyboard. */
const NAMED: Readonly<Record<string, readonly [key: string, keyCode: number]>> = {
  Space: [" ", 32],
  Enter: ["Enter", 13],
  NumpadEnter: ["Enter", 13],
  Escape: ["Escape", 27],
  Tab: ["Tab", 9],
  Backspace: ["Backspace", 8],
  Delete: ["Delete", 46],
  Home: ["Home", 36],
  End: ["End", 35],
  PageUp: ["PageUp", 33],
  PageDown: ["PageDown", 34],
  ArrowLeft: ["ArrowLeft", 37],
  ArrowUp: ["ArrowUp", 38],
  ArrowRight: ["ArrowRight", 39],
  ArrowDown: ["ArrowDown", 40],
  ShiftLeft: ["Shift", 16],
  ShiftRight: ["Shift", 16],
  ControlLeft: ["Control", 17],
  ControlRight: ["Control", 17],
  AltLeft: ["Alt", 18],
  AltRight: ["Alt", 18],
  Semicolon: [";", 186],
  Equal: ["=", 187],
  Comma: [",", 188],
  Minus: ["-", 189],
  Period: [".", 190],
  Slash: ["/", 191],
  Backquote: ["`", 192],
  BracketLeft: ["[", 219],
  Backslash: ["\\", 220],
  BracketRight: ["]", 221],
  Quote: ["'", 222],
};
const MODIFIERS: Readonly<Record<string, string>> = {
  Shift: "shiftKey",
  Control: "ctrlKey",
  Alt: "altKey",
};

/** Where the pointer is, in CSS pixels of the page's window. */
export type Point = readonly [x: number, y: number];

export class Input {
  readonly #window: Page;
  readonly #time: { readonly now: number };
  readonly #focus: Focus;
  readonly #held = new Set<string>();
  #point: Point = [0, 0];
  #isDown = false;
  /** Under the pointer when it went down. */
  #pressed: Element | null = null;

  readonly #beforeLooking: () => void;

  /**
   * @param time what events are stamped with, in milliseconds.
   * @param beforeLooking called before it is looked what is under the pointer. Default: nothing, time is real.
   */
  constructor(
    window: Page,
    time: { readonly now: number },
    focus: Focus,
    beforeLooking: () => void = () => {},
  ) {
    this.#window = window;
    this.#time = time;
    this.#focus = focus;
    this.#beforeLooking = beforeLooking;
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
    const [x, y] = point;
    if (x !== this.#point[0] || y !== this.#point[1]) {
      this.#point = point;
      this.#pointer("move");
    }
    if (isDown === this.#isDown) return;
    this.#isDown = isDown;
    if (isDown) {
      this.#pressed = this.#pointer("down");
      this.#focus.press(this.#pressed);
      return;
    }
    const released = this.#pointer("up");
    const clicked = commonAncestor(this.#pressed, released);
    if (clicked !== null) this.#mouse("click", clicked);
    this.#pressed = null;
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
    const [key, keyCode] = NAMED[code] ?? keyOf(code);
    const modifiers: Record<string, boolean> = {};
    for (const held of this.#held) {
      const modifier = MODIFIERS[NAMED[held]?.[0] ?? ""];
      if (modifier !== undefined) modifiers[modifier] = true;
    }
    const how = {
      key,
      code,
      keyCode,
      which: keyCode,
      bubbles: true,
      cancelable: true,
      composed: true,
      ...modifiers,
    };
    const { document } = this.#window;
    const target = this.#focus.element ?? document;
    const event = new this.#window.KeyboardEvent(type, how);
    this.#dispatch(target, event);
    if (type === "keydown" && key.length === 1 && !event.defaultPrevented) {
      const charCode = key.charCodeAt(0);
      this.#dispatch(
        target,
        new this.#window.KeyboardEvent("keypress", {
          ...how,
          charCode,
          keyCode: charCode,
        } as KeyboardEventInit),
      );
    }
  }

  #pointer(type: "move" | "down" | "up"): Element {
    const { document, PointerEvent } = this.#window;
    this.#beforeLooking();
    const target = document.elementFromPoint(...(this.#point as [number, number])) ?? document.body;
    const how = { ...this.#how(), pointerId: 1, isPrimary: true, pointerType: "mouse" };
    this.#dispatch(target, new PointerEvent(`pointer${type}`, how));
    this.#mouse(`mouse${type}`, target);
    return target;
  }

  #mouse(type: string, target: Element): void {
    this.#dispatch(target, new this.#window.MouseEvent(type, this.#how()));
  }

  #how(): MouseEventInit {
    const [x, y] = this.#point;
    const buttons = this.#isDown ? 1 : 0;
    const place = { clientX: x, clientY: y, screenX: x, screenY: y };
    return {
      ...place,
      button: 0,
      buttons,
      bubbles: true,
      cancelable: true,
      composed: true,
      view: this.#window,
    };
  }

  #dispatch(target: EventTarget, event: Event): void {
    stamps.set(event, this.#time.now);
    // The browser reports a listener's error to the window.
    target.dispatchEvent(event);
  }
}

/** The nearest element that holds both, or is one of them: browsers give it the click. Null: there is none any more. */
function commonAncestor(one: Element | null, other: Element): Element | null {
  let found = one;
  while (found !== null && !found.contains(other)) found = found.parentElement;
  return found;
}

function keyOf(code: string): readonly [string, number] {
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter !== undefined) return [letter.toLowerCase(), letter.charCodeAt(0)];
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(code)?.[1];
  if (digit !== undefined) return [digit, digit.charCodeAt(0)];
  const functionKey = /^F(\d+)$/.exec(code)?.[1];
  return [code, functionKey === undefined ? 0 : 111 + Number(functionKey)];
}
