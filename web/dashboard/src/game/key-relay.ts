/** Keys from the keyboard and from buttons on the screen, as one source for the SDK's keyboard controller. */

import type { KeyTarget } from "attract/page/keyboard";

/** What a button on the screen knows of a key. */
type KeyLike = Pick<KeyboardEvent, "code" | "repeat" | "ctrlKey" | "metaKey" | "altKey" | "preventDefault">;
type Listener = (event: never) => void;

/** Listened to by a keyboard controller; told by whoever hears keys. Owned by the component that plays. */
export class KeyRelay implements KeyTarget {
  readonly #listeners = new Map<string, Set<Listener>>();

  addEventListener(type: "keydown" | "keyup" | "blur", listener: Listener): void {
    const known = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, known.add(listener));
  }

  removeEventListener(type: "keydown" | "keyup" | "blur", listener: Listener): void {
    this.#listeners.get(type)?.delete(listener);
  }

  /** A key of the keyboard. */
  pass(type: "keydown" | "keyup", event: KeyLike): void {
    this.#tell(type, event);
  }

  /** A button that stands for the key `code`. */
  press(code: string): void {
    this.#tell("keydown", keyOf(code));
  }

  release(code: string): void {
    this.#tell("keyup", keyOf(code));
  }

  /** All keys are up: whatever is still held was released where nobody heard it. */
  releaseAll(): void {
    this.#tell("blur", undefined);
  }

  #tell(type: string, event: KeyLike | undefined): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
  }
}

function keyOf(code: string): KeyLike {
  return {
    code,
    repeat: false,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    preventDefault: () => undefined,
  };
}
