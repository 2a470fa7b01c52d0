/** Giving the event loop its turn: awaited `session.run` alone never leaves the microtask queue. */

/** The longest the loop may play without a yield, in milliseconds. */
export const YIELD_MS = 5;
/** A frame of a websocket is read in one turn and handed over in the next: with a single turn it waits for another yield. */
const TURNS = 2;

/** Posts through a MessageChannel, which no browser throttles or delays as it does timers. Owned by one worker. */
export class Yielder {
  readonly #channel = new MessageChannel();
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.#channel.port1.onmessage = () => this.#waiting.shift()?.();
  }

  /** Resolves once whatever is due in the event loop has had its turn, and what follows from it too. */
  async yield(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await this.#turn();
  }

  #turn(): Promise<void> {
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
