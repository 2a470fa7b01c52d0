/** The host's side of the protocol as a state machine: no socket, no clock, no workers. */

import {
  type Assignment,
  closeCodes,
  type FromBrowser,
  type GameFailed,
  type Hello,
  type ToBrowser,
  type WelcomeHost,
} from "@attract/schema";
import { afterClose, BackOff } from "./back-off.ts";

/** Reports kept for a server that is away. */
const MAX_REPORTS = 20;

export type HostEffect =
  | { kind: "send"; message: FromBrowser }
  | { kind: "connect"; delayMs: number }
  | { kind: "welcomed"; tier: WelcomeHost["tier"] }
  | { kind: "assign"; assignment: Assignment }
  /** No run to work for; the connection stays, or comes back. */
  | { kind: "idle" }
  | { kind: "reload"; reason: string }
  | { kind: "end"; error: string };

/** Owned by the supervisor; every method returns what to do next. */
export class HostConnection {
  readonly #hello: Hello;
  readonly #backOff: BackOff;
  #phase: "away" | "greeting" | "welcome" | "ended" = "away";
  #refusal: string | null = null;
  #reports: GameFailed[] = [];
  #status: FromBrowser | null = null;
  #runId: string | null = null;

  constructor(hello: Hello, random: () => number) {
    this.#hello = hello;
    this.#backOff = new BackOff(random);
  }

  get isConnected(): boolean {
    return this.#phase === "welcome";
  }

  opened(): HostEffect[] {
    this.#phase = "greeting";
    this.#refusal = null;
    return [{ kind: "send", message: this.#hello }];
  }

  closed(code: number, reason: string): HostEffect[] {
    if (this.#phase === "ended") return [];
    this.#phase = "away";
    const why = this.#refusal ?? (reason === "" ? `the server closed with code ${code}` : reason);
    switch (afterClose(code)) {
      case "reconnect":
        return [{ kind: "connect", delayMs: this.#backOff.nextDelayMs() }];
      case "run_over":
        if (code === closeCodes.NORMAL) return this.#end(why);
        this.#runId = null;
        return [{ kind: "idle" }, { kind: "connect", delayMs: this.#backOff.nextDelayMs() }];
      case "reload":
        this.#phase = "ended";
        return [{ kind: "reload", reason: why }];
      case "give_up":
        return this.#end(why);
    }
  }

  received(message: ToBrowser): HostEffect[] {
    switch (message.type) {
      case "refused":
        this.#refusal = `${message.reason} ${message.fix}`.trim();
        return [];
      case "welcome_host":
        return this.#welcomed(message);
      case "assignment":
        this.#runId = message.run_id;
        return message.run_id === null ? [{ kind: "idle" }] : [{ kind: "assign", assignment: message }];
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
    if (this.isConnected) return [{ kind: "send", message: report }];
    if (this.#reports.length < MAX_REPORTS) this.#reports.push(report);
    return [];
  }

  #end(error: string): HostEffect[] {
    this.#phase = "ended";
    return [{ kind: "end", error }];
  }

  #welcomed(message: WelcomeHost): HostEffect[] {
    this.#phase = "welcome";
    this.#backOff.succeeded();
    const effects: HostEffect[] = [{ kind: "welcomed", tier: message.tier }];
    for (const report of this.#reports) effects.push({ kind: "send", message: report });
    this.#reports = [];
    if (this.#status !== null) effects.push({ kind: "send", message: this.#status });
    return effects;
  }
}
