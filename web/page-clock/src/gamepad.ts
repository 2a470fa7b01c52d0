/** A standard gamepad that the policy holds. */

import { PAD_BUTTONS, PAD_STICKS } from "../../sdk/src/page-inputs.gen.ts";
import { define } from "./overriding.ts";

type Page = Window & typeof globalThis;

export class Gamepad {
  readonly #window: Page;
  readonly #time: { readonly now: number };
  readonly #dispatch: (target: EventTarget, event: Event) => void;
  readonly #held = new Set<string>();
  #isConnected = false;
  #changed = 0;

  constructor(
    window: Page,
    time: { readonly now: number },
    dispatch: (target: EventTarget, event: Event) => void,
  ) {
    this.#window = window;
    this.#time = time;
    this.#dispatch = dispatch;
  }

  /** As its first press makes it known to a page. Nothing where the page has no gamepads, as at an address without a lock. */
  connect(): void {
    const { navigator, GamepadEvent, Event } = this.#window;
    if (this.#isConnected || navigator.getGamepads === undefined) return;
    this.#isConnected = true;
    const others = navigator.getGamepads.bind(navigator);
    // A person's own, where this is no page of a clock, stays while nothing is held.
    define(navigator, "getGamepads", () => {
      const [first, ...rest] = others() as unknown[];
      return [this.#held.size > 0 || first == null ? this.#now() : first, ...rest];
    });
    const event = new Event("gamepadconnected");
    // The browser's own constructor takes only pads of its own.
    Object.setPrototypeOf(event, GamepadEvent.prototype);
    define(event, "gamepad", this.#now());
    this.#dispatch(this.#window, event);
  }

  /** @returns whether `code` is one of a gamepad. */
  set(code: string, isDown: boolean): boolean {
    if (!code.startsWith("Pad")) return false;
    this.connect();
    if (isDown) this.#held.add(code);
    else this.#held.delete(code);
    this.#changed = this.#time.now;
    return true;
  }

  #now(): object {
    const { Gamepad, GamepadButton } = this.#window;
    const isHeld = (code: string): number => Number(this.#held.has(code));
    const made = (prototype: object, values: Record<string, unknown>): object =>
      Object.create(prototype, Object.getOwnPropertyDescriptors(values));
    return made(Gamepad.prototype, {
      id: "Standard Gamepad",
      index: 0,
      connected: true,
      mapping: "standard",
      timestamp: this.#changed,
      vibrationActuator: null,
      axes: [0, 2, 4, 6].map((low) => isHeld(PAD_STICKS[low + 1]) - isHeld(PAD_STICKS[low])),
      buttons: PAD_BUTTONS.map((code) => {
        const value = isHeld(code);
        return made(GamepadButton.prototype, { pressed: value === 1, touched: value === 1, value });
      }),
    });
  }
}
