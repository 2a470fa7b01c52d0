/** The host's side of the protocol as a state machine: no socket, no clock, no workers. */

import {
  type Answer,
  type Assignment,
  closeCodes,
  type FromBrowser,
  type GameFailed,
  type Hello,
  type ToBrowser,
  type WelcomeHost,
} from "@attract/schema";
import { type ConnectEffect, type SendEffect, ServerLink } from "../connection/server-link.ts";
import type { GameOrder } from "./game-checker.ts";

export type HostEffect =
  | SendEffect
  | ConnectEffect
  | { kind: "welcomed"; tier: WelcomeHost["tier"] }
  | { kind: "assign"; assignment: Assignment }
  | { kind: "check"; order: GameOrder }
  /** A program outside answers what an order asked. */
  | { kind: "answered"; answer: Answer }
  /** No run to work for; the connection stays, or comes back. */
  | { kind: "idle" }
  | { kind: "reload"; reason: string }
  | { kind: "end"; error: string };

/** Owned by the supervisor; every method returns what to do next. */
export class HostConnection {
  readonly #link: ServerLink;
  #status: FromBrowser | null = null;
  #runId: string | null = null;

  constructor(hello: Hello, random: () => number) {
    this.#link = new ServerLink(hello, random);
  }

  get isConnected(): boolean {
    return this.#link.isWelcome;
  }

  opened(): HostEffect[] {
    return this.#link.opened();
  }

  closed(code: number, reason: string): HostEffect[] {
    const closed = this.#link.closed(code, reason);
    if (closed === null) return [];
    switch (closed.next) {
      case "reconnect":
        return [this.#link.reconnect()];
      case "run_over":
        if (code === closeCodes.NORMAL) return this.#end(closed.why);
        this.#runId = null;
        return [{ kind: "idle" }, this.#link.reconnect()];
      case "reload":
        this.#link.end();
        return [{ kind: "reload", reason: closed.why }];
      case "give_up":
        return this.#end(closed.why);
    }
  }

  received(message: ToBrowser): HostEffect[] {
    switch (message.type) {
      case "refused":
        this.#link.refused(message);
        return [];
      case "welcome_host":
        return this.#welcomed(message);
      case "assignment":
        this.#runId = message.run_id;
        return message.run_id === null ? [{ kind: "idle" }] : [{ kind: "assign", assignment: message }];
      case "check_game":
      case "replay_episodes":
      case "play_again":
      case "playtest_game":
        return [{ kind: "check", order: message }];
      case "answer":
        return [{ kind: "answered", answer: message }];
      case "run_ended":
        if (message.run_id !== this.#runId) return [];
        this.#runId = null;
        return [{ kind: "idle" }];
      default:
        return [];
    }
  }

  /** Sends it now, or the newest one once the server is back. */
  status(message: Extract<FromBrowser, { type: "host_status" }>): HostEffect[] {
    this.#status = message;
    return this.isConnected ? [{ kind: "send", message }] : [];
  }

  gameFailed(report: GameFailed): HostEffect[] {
    return this.#link.report(report);
  }

  #end(error: string): HostEffect[] {
    this.#link.end();
    return [{ kind: "end", error }];
  }

  #welcomed(message: WelcomeHost): HostEffect[] {
    const kept = this.#link.welcomed();
    const effects: HostEffect[] = [{ kind: "welcomed", tier: message.tier }, ...kept];
    if (this.#status !== null) effects.push({ kind: "send", message: this.#status });
    return effects;
  }
}
