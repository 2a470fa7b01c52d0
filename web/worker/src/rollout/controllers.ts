/** Who decides for which slots under one lease: the slots of one policy are one batch, whatever seats it sits in (rule E9). */

import type { Lease } from "@attract/schema";
import type { ObservationSpace } from "attract/spaces";
import { ObservationBatch } from "../game/observation-batch.ts";
import type { Policy } from "../policy/policy.ts";

/** The slots of one policy; row r of its outputs is slot `slots[r]`. */
export interface ControllerGroup {
  readonly policy: Policy;
  /** In ascending order. */
  readonly slots: Int32Array;
  /** [rows], 1 = takes the most probable action. */
  readonly isDeterministic: Uint8Array;
  /** What the policy reads: the games' own batch when all slots are its own, else a copy of its rows. */
  readonly batch: ObservationBatch;
}

/** Owned by one rollout loop or evaluation; `assign` before the first run. Allocates nothing per step. */
export class Controllers {
  groups: readonly ControllerGroup[] = [];
  /** [slots]: index into `groups`. */
  readonly owners: Uint8Array;
  readonly #space: ObservationSpace;
  readonly #batch: ObservationBatch;
  readonly #numAgents: number;
  /** [slots]: row of its group's outputs. */
  readonly #rows: Int32Array;
  /** By the agents whose slots they hold: policies keep what they made of a batch. */
  readonly #staging = new Map<string, ObservationBatch>();

  constructor(space: ObservationSpace, batch: ObservationBatch, numAgents: number) {
    this.#space = space;
    this.#batch = batch;
    this.#numAgents = numAgents;
    this.owners = new Uint8Array(batch.capacity);
    this.#rows = new Int32Array(batch.capacity);
  }

  /**
   * From now on agent a of each game is controlled by `policies[a]`, as `seats[a]` says.
   *
   * @param policies one per seat, or one for all; seats of the same object are one batch. @throws Error for another number.
   */
  assign(lease: Pick<Lease, "lease_id" | "seats">, policies: readonly Policy[]): void {
    const { lease_id, seats } = lease;
    const numAgents = this.#numAgents;
    if (seats.length !== numAgents || (policies.length !== 1 && policies.length !== numAgents)) {
      throw new Error(
        `lease ${lease_id} has ${seats.length} seats and ${policies.length} policies, the game has ${numAgents} agents`,
      );
    }
    const policyOf = (agent: number): Policy => policies[policies.length === 1 ? 0 : agent];
    const distinct = [...new Set(policies)];
    this.groups = distinct.map((policy, index) => {
      const agents = seats.map((_, agent) => agent).filter((agent) => policyOf(agent) === policy);
      return this.#group(index, policy, agents, seats);
    });
  }

  /** Runs every policy on what its slots see; states are read and not advanced (rule E4). */
  run(): Promise<void> {
    const { groups } = this;
    return groups.length === 1 ? groups[0].policy.run(this.#batch, this.#batch.capacity) : this.#runAll();
  }

  /** Takes slot `slot` to the state that its policy's last run gave it. */
  advance(slot: number): void {
    const { stateSize, states } = this.#batch;
    if (stateSize === 0) return;
    const source = this.groups[this.owners[slot]].policy.states;
    let from = this.#rows[slot] * stateSize;
    let to = slot * stateSize;
    for (const end = from + stateSize; from < end; from++, to++) states[to] = source[from];
  }

  /** Copies each slot's V(observation) of the last runs to `values`, [slots]. */
  readValues(values: Float32Array): void {
    for (let g = 0; g < this.groups.length; g++) {
      const { policy, slots } = this.groups[g];
      for (let row = 0; row < slots.length; row++) values[slots[row]] = policy.values[row];
    }
  }

  async #runAll(): Promise<void> {
    for (let g = 0; g < this.groups.length; g++) {
      const { policy, slots, batch } = this.groups[g];
      for (let row = 0; row < slots.length; row++) batch.copyRow(row, this.#batch, slots[row]);
      await policy.run(batch, slots.length);
    }
  }

  #group(index: number, policy: Policy, agents: readonly number[], seats: Lease["seats"]): ControllerGroup {
    const numAgents = this.#numAgents;
    const numInstances = this.#batch.capacity / numAgents;
    const slots = new Int32Array(numInstances * agents.length);
    const isDeterministic = new Uint8Array(slots.length);
    for (let instance = 0, row = 0; instance < numInstances; instance++) {
      for (const agent of agents) {
        const slot = instance * numAgents + agent;
        slots[row] = slot;
        isDeterministic[row] = seats[agent].deterministic ? 1 : 0;
        this.owners[slot] = index;
        this.#rows[slot] = row++;
      }
    }
    const batch = agents.length === numAgents ? this.#batch : this.#stagingOf(agents, slots.length);
    return { policy, slots, isDeterministic, batch };
  }

  #stagingOf(agents: readonly number[], rows: number): ObservationBatch {
    const key = agents.join();
    let batch = this.#staging.get(key);
    if (batch === undefined) {
      // Masks that allow all: an exported model takes one, for an output that is not used here.
      const { stateSize, maskSize } = this.#batch;
      batch = new ObservationBatch(this.#space, rows, { stateSize, maskSize });
      this.#staging.set(key, batch);
    }
    return batch;
  }
}
