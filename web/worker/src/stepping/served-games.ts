/** The training games that the server steps (central inference): leases opened, acts answered in order, leases ended. */

import type { Act, Lease, Observe } from "@attract/schema";
import { StepServer, type StepServerOptions } from "./step-server.ts";

export interface ServedGamesOptions {
  /** Sends an answer; what it holds changes with the next act. */
  send(observe: Observe): void;
  /** Takes what ends the worker: a game that fails again and again, or acts that do not fit. */
  broke(error: unknown): void;
}

/** Owned by one rollout worker. What comes before the game is loaded waits for it. */
export class ServedGames {
  readonly #options: ServedGamesOptions;
  readonly #server: Promise<StepServer>;
  #loaded: StepServer | null = null;
  #last: Promise<void>;
  readonly #open = new Set<number>();
  readonly #ended = new Map<number, () => void>();

  /** @param loading gives what the games need, or rejects, which is reported elsewhere. */
  constructor(loading: Promise<StepServerOptions>, options: ServedGamesOptions) {
    this.#options = options;
    this.#server = loading.then((server) => new StepServer(server));
    this.#last = this.#server.then(
      (server) => {
        this.#loaded = server;
      },
      () => undefined,
    );
  }

  /** All agent steps played, for the display. */
  get agentSteps(): number {
    return this.#loaded?.agentSteps ?? 0;
  }

  stepsOf(leaseId: number): number {
    return this.#loaded?.stepsOf(leaseId) ?? 0;
  }

  /** Called from now on before each game's turn with its instance id; null: not called. */
  set announce(announce: StepServerOptions["announce"]) {
    if (this.#loaded !== null) this.#loaded.announce = announce;
  }

  open(lease: Lease): void {
    if (this.#open.has(lease.lease_id)) return;
    this.#open.add(lease.lease_id);
    this.#then((server) => server.open(lease));
  }

  act(act: Act): void {
    this.#then((server) => {
      const observe = server.act(act);
      if (observe !== null) this.#options.send(observe);
    });
  }

  /** The lease is over. */
  close(leaseId: number): void {
    if (!this.#open.delete(leaseId)) return;
    this.#then((server) => server.close(leaseId));
    this.#ended.get(leaseId)?.();
    this.#ended.delete(leaseId);
  }

  /** Resolves once the lease is over. */
  ended(leaseId: number): Promise<void> {
    if (!this.#open.has(leaseId)) return Promise.resolve();
    return new Promise((resolve) => this.#ended.set(leaseId, resolve));
  }

  #then(work: (server: StepServer) => void): void {
    this.#last = this.#last.then(() => {
      if (this.#loaded !== null) work(this.#loaded);
    });
    this.#last = this.#last.catch((error) => this.#options.broke(error));
  }
}
