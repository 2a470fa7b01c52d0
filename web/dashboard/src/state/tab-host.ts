/** This tab as a host: one for the whole page, whichever view is shown. */

import type { HostHandle, HostStatus } from "@attract/worker";
import { api, serverUrl } from "../api/client.ts";

export interface TabHostState {
  /** Workers this tab is willing to run; 0: it has not joined. */
  numWorkers: number;
  status: HostStatus | null;
}

type Start = (options: {
  base: URL;
  token: string;
  maxWorkers: number;
  onStatus: (status: HostStatus) => void;
}) => HostHandle;

/** Joins and leaves with this page's workers; a small store that React subscribes to. */
export class TabHost {
  #state: TabHostState = { numWorkers: 0, status: null };
  #handle: HostHandle | null = null;
  /** Workers that the host at `#handle` offered the server. */
  #offered = 0;
  #starting: Promise<void> | null = null;
  readonly #listeners = new Set<() => void>();
  readonly #loadStart: () => Promise<Start>;
  readonly #fetchToken: () => Promise<string>;
  readonly #base: () => URL;

  constructor(loadStart: () => Promise<Start>, fetchToken: () => Promise<string>, base: () => URL) {
    this.#loadStart = loadStart;
    this.#fetchToken = fetchToken;
    this.#base = base;
  }

  /** For `useSyncExternalStore`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): TabHostState => this.#state;

  /** Runs `numWorkers` workers in this tab from now on; 0 leaves. Raises ApiError when the server refuses. */
  async join(numWorkers: number): Promise<void> {
    if (numWorkers === 0) return this.leave();
    this.#set({ ...this.#state, numWorkers });
    if (this.#handle !== null && numWorkers <= this.#offered) {
      this.#handle.setMaxWorkers(numWorkers);
      return;
    }
    // The server gives a host as many workers as it offered when it came: for more it must come again.
    this.#handle?.stop();
    this.#handle = null;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null;
    });
    await this.#starting;
  }

  /** Ends this tab's workers. */
  leave(): void {
    this.#handle?.stop();
    this.#handle = null;
    this.#set({ numWorkers: 0, status: null });
  }

  async #start(): Promise<void> {
    try {
      const [startHost, token] = await Promise.all([this.#loadStart(), this.#fetchToken()]);
      const { numWorkers } = this.#state;
      // Left again while the token was fetched.
      if (numWorkers === 0) return;
      this.#offered = numWorkers;
      const handle = startHost({
        base: this.#base(),
        token,
        maxWorkers: numWorkers,
        // A host that was stopped has a last word.
        onStatus: (status) => {
          if (this.#handle === handle) this.#set({ ...this.#state, status });
        },
      });
      this.#handle = handle;
    } catch (error) {
      this.#set({ numWorkers: 0, status: null });
      throw error;
    }
  }

  #set(state: TabHostState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

/** The page's own; the runtime of the workers is loaded when it first joins. */
export const tabHost = new TabHost(
  async () => (await import("@attract/worker")).startHost,
  async () => (await api.join({ tier: "local" })).token,
  () => serverUrl("."),
);
