/**
 * Notices that the server is away, and when it is back; time is an argument. A browser does not
 * notice a connection that died silently: it keeps an idle one for minutes, and a sending one waits for TCP's retries.
 * It asks `/healthz`: a message of its own for each peer to answer would be traffic in every run.
 */

/** Nothing heard for so long, and the server is asked whether it is there. */
export const SILENT_MS = 10_000;
/** Between two questions; an answer may take as long. */
export const ASK_MS = 5_000;
/** Nothing heard for so long, and it is away: earlier connections cannot be relied on. */
export const AWAY_MS = 15_000;

/** Owned by the supervisor. All times in monotonic milliseconds. */
export class ServerWatch {
  #lastHeard: number;
  #lastAsked: number;

  constructor(now: number) {
    this.#lastHeard = now;
    this.#lastAsked = now;
  }

  /** Whether it has not been heard for so long that it is away. */
  isAway(now: number): boolean {
    return now - this.#lastHeard >= AWAY_MS;
  }

  /** How long nothing has been heard of it, in whole seconds. */
  silentSeconds(now: number): number {
    return Math.floor((now - this.#lastHeard) / 1000);
  }

  /** Whether to ask it now. The caller asks if this returns true. */
  takeQuestion(now: number): boolean {
    if (now - this.#lastHeard < SILENT_MS || now - this.#lastAsked < ASK_MS) return false;
    this.#lastAsked = now;
    return true;
  }

  /** It was heard, by an answer or through a socket. Returns whether it is back after having been away. */
  heard(now: number): boolean {
    const wasAway = this.isAway(now);
    this.#lastHeard = now;
    return wasAway;
  }
}
