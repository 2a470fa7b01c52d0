/** Giving the event loop its turn: awaited `session.run` alone never leaves the microtask queue. */

/** The longest the loop may play without a yield, in milliseconds. */
export const YIELD_MS = 5;

/** Posts through a MessageChannel, which no browser throttles or delays as it does timers. Owned by one worker. */
export class Yielder {
  readonly #channel = new MessageChannel();
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.#channel.port1.onmessage = () => this.#waiting.shift()?.();
  }

  /** Resolves once whatever is due in the event loop has had its turn. */
  yield(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#channel.port2.postMessage(null);
    });
  }

  /** Lets the thread end; pending yields never resolve. */
  close(): void {
    this.#channel.port1.close();
    this.#channel.port2.close();
  }
}
