/** Tracks whether the server answered the newest request, and notifies subscribers. */

export class ServerLink {
  #isAway = false;
  readonly #listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Whether the newest request was not answered. */
  readonly isAway = (): boolean => this.#isAway;

  /** A request was answered, or could not be. */
  report(hasAnswered: boolean): void {
    if (this.#isAway === !hasAnswered) return;
    this.#isAway = !hasAnswered;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** The page's own. */
export const serverLink = new ServerLink();

/** Whether an address means the machine that the browser runs on. */
export function isThisMachine(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}
