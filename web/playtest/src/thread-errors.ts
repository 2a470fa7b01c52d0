/** Uncaught errors of a game, and what it writes by `console.error`, in the thread that runs it. */

import { consoleText } from "../../worker/src/game/console-relay.ts";
import { ownError } from "../../worker/src/page/page-frame.ts";
import type { HeardError } from "./alarms.ts";

/** More between two looks say nothing new. */
const MAX_HEARD = 64;

/** Owned by one check thread, for as long as that lives. Costs nothing until there is an error. */
export class ThreadErrors {
  /** Since the last `take`. */
  #heard: HeardError[] = [];

  /** Whether `take` has something. */
  get hasAny(): boolean {
    return this.#heard.length > 0;
  }

  /** From now on all are heard; the console stays silent. */
  listen(): void {
    for (const level of ["debug", "log", "info", "warn"] as const) console[level] = () => undefined;
    console.error = (...args: unknown[]) => this.#add(consoleText(args), new Error().stack);
    addEventListener("unhandledrejection", (event) => {
      event.preventDefault();
      this.#add(`unhandled rejection: ${textOf(event.reason)}`, stackOf(event.reason));
    });
    addEventListener("error", (event) => {
      event.preventDefault();
      this.#add(event.error === undefined ? event.message : textOf(event.error), stackOf(event.error));
    });
  }

  take(): HeardError[] {
    const heard = this.#heard;
    this.#heard = [];
    return heard;
  }

  #add(text: string, stack: string | null | undefined): void {
    if (this.#heard.length < MAX_HEARD) this.#heard.push({ text, stack: stack ?? null });
  }
}

/** What a console would show. */
export function textOf(thrown: unknown): string {
  return consoleText([thrown]);
}

export function stackOf(thrown: unknown): string | null {
  if (typeof thrown !== "object" || thrown === null || !("stack" in thrown)) return null;
  return typeof thrown.stack === "string" ? thrown.stack : null;
}

/** What a page wrote to its console: errors of its window are those of another. */
export function pageConsoleText(args: readonly unknown[]): string {
  return consoleText(args.map((arg) => ownError(arg)));
}
