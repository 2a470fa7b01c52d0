/** Keys from a keyboard or from buttons on the screen, as one source for the SDK's keyboard controller. */

import type { KeyTarget } from "attract/page/keyboard";

type Listener = (event: never) => void;

/** Passes keys on to a keyboard controller. Owned by the stage that is played on. */
export class KeyRelay implements KeyTarget {
  readonly #listeners = new Map<string, Set<Listener>>();

  addEventListener(type: "keydown" | "keyup" | "blur", listener: Listener): void {
    const known = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, known.add(listener));
  }

  removeEventListener(type: "keydown" | "keyup" | "blur", listener: Listener): void {
    this.#listeners.get(type)?.delete(listener);
  }

  press(code: string): void {
    this.#dispatch("keydown", keyOf(code));
  }

  release(code: string): void {
    this.#dispatch("keyup", keyOf(code));
  }

  /** Releases all keys: their release may have been missed. */
  releaseAll(): void {
    this.#dispatch("blur", undefined);
  }

  #dispatch(type: string, event: ReturnType<typeof keyOf> | undefined): void {
    // Listeners get as much of an event as a keyboard controller looks at, which is no KeyboardEvent: hence `never`.
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
  }
}

/** As much of an event as a keyboard controller looks at. */
function keyOf(code: string) {
  return {
    code,
    repeat: false,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    preventDefault: () => undefined,
  };
}
