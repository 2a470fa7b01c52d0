/** Steps a worker's training games when the server decides (rules I1, I2; E1-E3, E7, E9): `act` in, `observe` out. */

import { type Act, type Lease, type Observe, ProtocolError, type WelcomeWorker } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { FailureLimit, type FailureReport } from "../game/failures.ts";
import { StepGroup } from "./step-group.ts";

export interface StepServerOptions {
  definition: GameDefinition;
  seat: Pick<WelcomeWorker, "run_id" | "instance_ids">;
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Takes the report of a game that broke; its slots' step is invalid, and the next episode begins. */
  failed(report: FailureReport): void;
  /** Called before each game's turn with its instance id; null: turns are not announced, which costs nothing. */
  announce: ((instanceId: number) => void) | null;
}

interface OpenLease {
  lease: Lease;
  /** Steps that each group has taken under it. */
  steps: number[];
}

/** Owned by one rollout worker; its games live across leases (rule E5). */
export class StepServer {
  readonly #options: StepServerOptions;
  readonly #failures: FailureLimit;
  readonly #leases = new Map<number, OpenLease>();
  #groups: StepGroup[] = [];
  #announce: StepServerOptions["announce"];
  /** All agent steps played, for the display. */
  agentSteps = 0;

  constructor(options: StepServerOptions) {
    this.#options = options;
    this.#failures = new FailureLimit(options.failed, () => this.agentSteps);
    this.#announce = options.announce;
  }

  /** See `StepServerOptions`; may be set to null at any time. */
  set announce(announce: StepServerOptions["announce"]) {
    this.#announce = announce;
    for (const group of this.#groups) group.announce = announce;
  }

  /** From now on `act` may name this lease. */
  open(lease: Lease): void {
    const sizes = lease.group_sizes;
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const ids = this.#options.seat.instance_ids;
    if (total !== ids.length) {
      throw new ProtocolError(`lease.group_sizes: got ${total} games in all, must be ${ids.length}`);
    }
    if (this.#groups.length === 0) {
      let from = 0;
      for (const size of sizes) {
        const { definition } = this.#options;
        this.#groups.push(new StepGroup(definition, ids.slice(from, from + size), this.#failures));
        from += size;
      }
      this.announce = this.#announce;
    }
    this.#leases.set(lease.lease_id, { lease, steps: sizes.map(() => 0) });
  }

  /** The lease is over: what is still asked under it is not answered; its games stay where they are. */
  close(leaseId: number): void {
    this.#leases.delete(leaseId);
  }

  /** Steps per slot that the group furthest behind has taken under a lease. */
  stepsOf(leaseId: number): number {
    const open = this.#leases.get(leaseId);
    return open === undefined ? 0 : Math.min(...open.steps);
  }

  /**
   * Does what `act` says and returns the answer: valid until the next call for the same group. Null: the lease is not open.
   *
   * @throws FatalGameError when the game fails again and again; ProtocolError when the actions do not fit.
   */
  act(act: Act): Observe | null {
    const open = this.#leases.get(act.lease_id);
    if (open === undefined) return null;
    const group = this.#groups[act.group];
    if (group === undefined) throw new ProtocolError(`act.group: got ${act.group}, there is no such group`);
    group.prepare(open.lease);
    const isStep = act.action !== null;
    let seconds = 0;
    if (act.action !== null) {
      group.takeActions(act.action);
      const before = this.#options.now();
      group.step();
      seconds = (this.#options.now() - before) / 1000;
      this.agentSteps += group.numSlots;
      open.steps[act.group]++;
    }
    return {
      type: "observe",
      run_id: act.run_id,
      lease_id: act.lease_id,
      group: act.group,
      ...group.seen(),
      outcome: isStep ? { ...group.outcome(), step_seconds: seconds } : null,
    };
  }
}
