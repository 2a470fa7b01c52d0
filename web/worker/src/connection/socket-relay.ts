/** A rollout worker's websocket on the trusted side: greets with the token, which the worker never sees, and hands frames on. */

import { encodeMessage, type Hello } from "@attract/schema";
import type { RelayToRollout, RolloutToRelay } from "../host/worker-messages.ts";
import { Socket } from "./socket.ts";

/** A worker that has more than this unsent floods. */
export const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** However often a worker asks, its socket is opened no more often than this. */
export const MIN_INTERVAL_MS = 200;

/** Owned by the supervisor, one for each rollout worker. */
export class SocketRelay {
  readonly #hello: Hello;
  readonly #post: (message: RelayToRollout, transfer: Transferable[]) => void;
  readonly #socket: Socket;
  #lastConnect = Number.NEGATIVE_INFINITY;

  /** @param hello sent on every socket, before the worker learns that it is open. @param post sends to the worker. */
  constructor(url: string, hello: Hello, post: (message: RelayToRollout, transfer: Transferable[]) => void) {
    this.#hello = hello;
    this.#post = post;
    this.#socket = new Socket(url, {
      opened: () => {
        this.#socket.send(encodeMessage(this.#hello));
        this.#post({ type: "opened" }, []);
      },
      received: (bytes) => this.#post({ type: "received", bytes }, [bytes.buffer]),
      closed: (code, reason) => this.#post({ type: "closed", code, reason }, []),
    });
  }

  /** Does what the worker asks. Raises TypeError for what is no frame, RangeError for a flood. */
  heard(message: RolloutToRelay, now: number): void {
    switch (message.type) {
      case "connect": {
        const delayMs = Math.max(Number(message.delayMs) || 0, this.#lastConnect + MIN_INTERVAL_MS - now);
        this.#lastConnect = now + delayMs;
        this.#socket.connect(delayMs);
        break;
      }
      case "send":
        // A frame is bytes: a text, or a buffer shared with someone, is none.
        if (!(message.bytes instanceof Uint8Array)) throw new TypeError("a frame that is no bytes");
        if (this.#socket.bufferedBytes > MAX_UNSENT_BYTES) {
          throw new RangeError(`more than ${MAX_UNSENT_BYTES} bytes that are not sent yet`);
        }
        this.#socket.send(message.bytes);
        break;
      case "disconnect":
        this.close();
        break;
    }
  }

  /** Gives up the connection there is, or the wait for one: the server was away and is back. */
  renew(): void {
    this.#socket.renew();
  }

  /** Closes for good. */
  close(): void {
    this.#socket.close();
  }
}
