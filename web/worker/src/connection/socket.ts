/** A websocket as bytes in and out; decides nothing. */

/** What browsers say of a connection that broke. */
const ABNORMAL_CODE = 1006;

export interface SocketHandlers {
  opened(): void;
  received(bytes: Uint8Array<ArrayBuffer>): void;
  closed(code: number, reason: string): void;
}

/** What a connection needs of its socket. */
export interface ServerSocket {
  connect(delayMs: number): void;
  /** Sends if the socket is open; what is not sent is lost, and the protocol sends it again. */
  send(bytes: Uint8Array<ArrayBuffer>): void;
  /** Closes for good; no handler is called any more. */
  close(): void;
}

/** One connection at a time; owned by the supervisor, or by whom it relays for. */
export class Socket implements ServerSocket {
  readonly #url: string;
  readonly #handlers: SocketHandlers;
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, handlers: SocketHandlers) {
    this.#url = url;
    this.#handlers = handlers;
  }

  /** Bytes handed over and not yet sent. */
  get bufferedBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  connect(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), delayMs);
  }

  /** Gives up the connection there is, as if it had closed; one that is awaited is made now. */
  renew(): void {
    const socket = this.#detach();
    if (socket !== null) {
      socket.close();
      this.#handlers.closed(ABNORMAL_CODE, "the server was away");
    } else if (this.#timer !== undefined) {
      this.connect(0);
    }
  }

  /** Sends if the socket is open; what is not sent is lost, and the protocol sends it again. */
  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(bytes);
  }

  /** Closes for good; no handler is called any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#detach()?.close(1000);
  }

  #open(): void {
    this.#timer = undefined;
    this.#detach()?.close();
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#handlers.opened();
    socket.onmessage = (event) => this.#handlers.received(new Uint8Array(event.data as ArrayBuffer));
    socket.onclose = (event) => {
      this.#detach();
      this.#handlers.closed(event.code, event.reason);
    };
    this.#socket = socket;
  }

  #detach(): WebSocket | null {
    const socket = this.#socket;
    if (socket !== null) {
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
    }
    this.#socket = null;
    return socket;
  }
}

/** The server's websocket, relative to the page's base: `wss` under https, and behind any prefix. */
export function socketUrl(base: string): string {
  const url = new URL("ws", base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.search = "";
  url.hash = "";
  return url.href;
}
