/** What a screen reader says next: one text for the whole app, which the one live region shows. */

/** For `useSyncExternalStore`. */
export class Announcer {
  #text = "";
  readonly #listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly text = (): string => this.#text;

  /** Has `text` said once; the same text again is said again only after another. */
  say(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    for (const listener of this.#listeners) listener();
  }
}

/** The page's own. */
export const announcer = new Announcer();
