/** The alarms of one episode: what was heard of errors, once per text. */

import type { GameFailed, PlaytestAlarm } from "@attract/schema";
import { gameStack } from "../../worker/src/game/game-stack.ts";

const MAX_ALARMS = 16;
const MAX_CHARACTERS = 1_000;
const MAX_STACK_CHARACTERS = 3_000;

/** How an alarm begins that is raised where no episode begins after its own one; the server knows it. */
export const NOT_AGAIN = "after this episode the game does not begin again in the same page";

/** Something that was thrown, or written as an error. */
export interface HeardError {
  text: string;
  stack: string | null;
}

/** Owned by one playtest. */
export class EpisodeAlarms {
  #alarms: PlaytestAlarm[] = [];
  readonly #seen = new Set<string>();

  /** Those of the episode so far. */
  get all(): PlaytestAlarm[] {
    return this.#alarms;
  }

  begin(): void {
    this.#alarms = [];
    this.#seen.clear();
  }

  /** Texts that differ only in numbers are one alarm, and so is a text that an earlier alarm contains. */
  add(
    oracle: "error" | "nan" | "retry-broken",
    { text, stack }: HeardError,
    { step, tick }: { step: number; tick: number },
    method: GameFailed["method"] = null,
  ): void {
    const stable = stableText(text);
    const key = `${oracle} ${stable.replaceAll(/\d+/g, "#")}`;
    const isKnown = this.#seen.has(key) || this.#alarms.some((alarm) => alarm.text.endsWith(`: ${stable}`));
    if (isKnown || this.#alarms.length >= MAX_ALARMS) return;
    this.#seen.add(key);
    const own = gameStack(stack);
    this.#alarms.push({
      oracle,
      text: clipped(stable, MAX_CHARACTERS),
      stack: own === null ? null : clipped(own, MAX_STACK_CHARACTERS),
      method,
      step,
      tick,
    });
  }
}

/** `text` without what another run has otherwise: servers, blobs, and numbers of ten digits and more. */
function stableText(text: string): string {
  return text
    .replaceAll(/blob:(?:https?:\/\/[^/\s]+\/|null\/)?[\w-]+/g, "blob")
    .replaceAll(/https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?\//g, "")
    .replaceAll(/\d{10,}/g, "#");
}

function clipped(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}...` : text;
}
