/** What a host's and a worker's connection have in common: greeting, refusal, back-off, and reports kept for a server that is away. */

import type { FromBrowser, GameFailed, Hello, ToBrowser } from "@attract/schema";
import { type AfterClose, afterClose, BackOff } from "./back-off.ts";

/** Reports kept for a server that is away. */
const MAX_REPORTS = 20;

export type SendEffect = { kind: "send"; message: FromBrowser };
export type ConnectEffect = { kind: "connect"; delayMs: number };

/** Owned by one connection's state machine. */
export class ServerLink {
  readonly #hello: Hello | null;
  readonly #backOff: BackOff;
  #phase: "away" | "greeting" | "welcome" | "ended" = "away";
  #refusal: string | null = null;
  #reports: GameFailed[] = [];

  /** @param hello sent on every socket; null: the socket's owner sends it. @param random uniform in [0, 1) */
  constructor(hello: Hello | null, random: () => number) {
    this.#hello = hello;
    this.#backOff = new BackOff(random);
  }

  /** Whether the server has answered the greeting of this socket. */
  get isWelcome(): boolean {
    return this.#phase === "welcome";
  }

  get isEnded(): boolean {
    return this.#phase === "ended";
  }

  opened(): SendEffect[] {
    this.#phase = "greeting";
    this.#refusal = null;
    return this.#hello === null ? [] : [{ kind: "send", message: this.#hello }];
  }

  /** What the closing of the socket asks for, and why it closed in a sentence; null once all has ended. */
  closed(code: number, reason: string): { next: AfterClose; why: string } | null {
    if (this.isEnded) return null;
    this.#phase = "away";
    const why = this.#refusal ?? (reason === "" ? `the server closed with code ${code}` : reason);
    return { next: afterClose(code), why };
  }

  reconnect(): ConnectEffect {
    return { kind: "connect", delayMs: this.#backOff.nextDelayMs() };
  }

  /** There will be no other socket. */
  end(): void {
    this.#phase = "ended";
  }

  refused(message: Extract<ToBrowser, { type: "refused" }>): void {
    const { reason, fix } = message;
    this.#refusal = fix === "" ? reason : `${reason}; ${fix}`;
  }

  /** The server has answered; what was kept for it goes out. */
  welcomed(): SendEffect[] {
    this.#phase = "welcome";
    this.#backOff.succeeded();
    const kept = this.#reports.map((message) => ({ kind: "send" as const, message }));
    this.#reports = [];
    return kept;
  }

  /** Sends the report now, or once the server is back. */
  report(message: GameFailed): SendEffect[] {
    if (this.isWelcome) return [{ kind: "send", message }];
    if (this.#reports.length < MAX_REPORTS) this.#reports.push(message);
    return [];
  }
}
