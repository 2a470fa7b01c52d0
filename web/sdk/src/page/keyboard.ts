/** The keyboard as a game's controller: held keys become actions as the game's `keys` say. */

import type { Action } from "../contract.ts";
import type { GameDescription } from "../description.ts";

/** What is listened to: `window`, or an element that can have the focus. */
export interface KeyTarget {
  addEventListener(type: "keydown" | "keyup", listener: (event: KeyboardEvent) => void): void;
  addEventListener(type: "blur", listener: () => void): void;
  removeEventListener(type: "keydown" | "keyup", listener: (event: KeyboardEvent) => void): void;
  removeEventListener(type: "blur", listener: () => void): void;
}

export interface Keyboard {
  /** The action now: of a discrete space the key pressed last, else all held keys together. */
  choose(): Action;
  /** Stops listening. */
  dispose(): void;
}

/**
 * Listens on `target` for the keys of `description`, and keeps the page from scrolling under them. Keys that a control
 * with the focus answers to are the control's: all of a field or a slider, Space and Enter of a button or a link.
 *
 * With no key held the action is `idle_action`; without one, that of the last key. A tap shorter than a step still
 * counts once.
 */
export function createKeyboard(
  description: Pick<GameDescription, "keys" | "idle_action" | "action">,
  target: KeyTarget,
): Keyboard {
  const { keys, action: space, idle_action: idle } = description;
  const resting: number | number[] = idle ?? (space.kind === "discrete" ? 0 : zeros(description));
  /** Codes held, the last pressed at the end. */
  let held: string[] = [];
  /** Pressed since the last choice, and perhaps released already. */
  let tapped: string[] = [];
  let last = resting;
  const onDown = (event: KeyboardEvent): void => {
    if (!(event.code in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isOfControl(event)) return;
    event.preventDefault();
    if (event.repeat) return;
    held = [...held.filter((code) => code !== event.code), event.code];
    tapped.push(event.code);
  };
  const onUp = (event: KeyboardEvent): void => {
    held = held.filter((code) => code !== event.code);
  };
  // Keys released while another window has the focus are never heard of.
  const onBlur = (): void => {
    held = [];
  };
  target.addEventListener("keydown", onDown);
  target.addEventListener("keyup", onUp);
  target.addEventListener("blur", onBlur);
  return {
    choose() {
      const codes = [...tapped.filter((code) => !held.includes(code)), ...held];
      tapped = [];
      if (codes.length === 0) return idle === null ? last : resting;
      const values = codes.map((code) => keys[code]);
      last =
        space.kind === "discrete"
          ? values[values.length - 1]
          : combine(values as number[][], resting as number[]);
      return last;
    },
    dispose() {
      target.removeEventListener("keydown", onDown);
      target.removeEventListener("keyup", onUp);
      target.removeEventListener("blur", onBlur);
    },
  };
}

/** Whether the key goes to what has the focus: else a slider could not be moved, nor a button pressed, without a mouse. */
function isOfControl({ target, code }: KeyboardEvent): boolean {
  const { tagName = "", isContentEditable = false } = (target ?? {}) as Partial<HTMLElement>;
  if (isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(tagName)) return true;
  return ["BUTTON", "A", "SUMMARY"].includes(tagName) && (code === "Space" || code === "Enter");
}

/** Per component the value furthest from rest; opposite keys of equal strength cancel out. */
function combine(values: readonly number[][], resting: readonly number[]): number[] {
  return resting.map((rest, i) => {
    const highest = Math.max(rest, ...values.map((value) => value[i]));
    const lowest = Math.min(rest, ...values.map((value) => value[i]));
    const up = highest - rest;
    const down = rest - lowest;
    if (up === down) return rest;
    return up > down ? highest : lowest;
  });
}

function zeros(description: Pick<GameDescription, "keys">): number[] {
  const [any] = Object.values(description.keys);
  return Array.isArray(any) ? any.map(() => 0) : [0];
}
