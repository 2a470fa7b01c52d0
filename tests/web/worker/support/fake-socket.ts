/** A socket that remembers what it was told to send, and hears what a test lets it hear. */

import {
  decodeFromBrowser,
  encodeMessage,
  type FromBrowser,
  type Hello,
  PROTOCOL_VERSION,
} from "@attract/schema";

/** A worker's. */
export const HELLO: Hello = {
  type: "hello",
  protocol_version: PROTOCOL_VERSION,
  build: "dev",
  role: "worker",
  token: "t",
  host_id: "0".repeat(32),
  worker_index: 0,
  worker_key: "1".repeat(32),
  max_workers: null,
  run_id: "run",
  device: { user_agent: "", hardware_concurrency: 1 },
};

export class FakeSocket {
  static readonly OPEN = 1;
  /** Every one since the test emptied it, oldest first. */
  static all: FakeSocket[] = [];
  readonly sent: FromBrowser[] = [];
  readonly url: string;
  readyState = 0;
  bufferedAmount = 0;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;

  constructor(url: string) {
    this.url = url;
    FakeSocket.all.push(this);
  }

  static get last(): FakeSocket {
    return FakeSocket.all.at(-1)!;
  }

  open(): void {
    this.readyState = FakeSocket.OPEN;
    this.onopen?.();
  }

  send(bytes: Uint8Array): void {
    this.sent.push(decodeFromBrowser(bytes.slice()));
  }

  hears(message: Parameters<typeof encodeMessage>[0]): void {
    this.onmessage?.({ data: encodeMessage(message).buffer });
  }

  close(): void {
    this.readyState = 3;
  }

  /** What was sent of one type. */
  of<T extends FromBrowser["type"]>(type: T): Extract<FromBrowser, { type: T }>[] {
    return this.sent.filter((message) => message.type === type) as Extract<FromBrowser, { type: T }>[];
  }
}

/** Opens by itself, as a server that is there lets it. */
export class OpeningSocket extends FakeSocket {
  constructor(url: string) {
    super(url);
    setTimeout(() => this.open());
  }
}
