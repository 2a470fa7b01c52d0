/** A worker's side of its socket: the socket itself is the supervisor's, who greets; see `socket-relay.ts`. */

import type { RelayToRollout, RolloutToRelay } from "../host/worker-messages.ts";
import type { ServerSocket, SocketHandlers } from "./socket.ts";

/** Owned by one rollout worker. */
export class PortSocket implements ServerSocket {
  readonly #post: (message: RolloutToRelay, transfer: Transferable[]) => void;
  readonly #handlers: SocketHandlers;
  #isOpen = false;
  #isOver = false;

  constructor(post: (message: RolloutToRelay, transfer: Transferable[]) => void, handlers: SocketHandlers) {
    this.#post = post;
    this.#handlers = handlers;
  }

  /** What the supervisor says of the socket. */
  heard(message: RelayToRollout): void {
    if (this.#isOver) return;
    switch (message.type) {
      case "opened":
        this.#isOpen = true;
        this.#handlers.opened();
        break;
      case "received":
        this.#handlers.received(message.bytes);
        break;
      case "closed":
        this.#isOpen = false;
        this.#handlers.closed(message.code, message.reason);
        break;
    }
  }

  connect(delayMs: number): void {
    this.#post({ type: "connect", delayMs }, []);
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#isOpen) return;
    // A copy of these bytes alone: the sender's buffer is larger, and goes on being used.
    const copy = bytes.slice();
    this.#post({ type: "send", bytes: copy }, [copy.buffer]);
  }

  close(): void {
    if (!this.#isOver) this.#post({ type: "disconnect" }, []);
    this.#isOver = true;
  }
}
