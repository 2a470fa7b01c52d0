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
  /** By the seats whose slots they hold: policies keep what they made of a batch. */
  readonly #staging = new Map<string, ObservationBatch>();

  constructor(space: ObservationSpace, batch: ObservationBatch, numAgents: number) {
    this.#space = space;
    this.#batch = batch;
    this.#numAgents = numAgents;
    this.owners = new Uint8Array(batch.capacity);
    this.#rows = new Int32Array(batch.capacity);
  }

  /**
   * From now on slot s is controlled by `policies[s % seats.length]`, as that seat says: the seats are those of one game's
   * agents, or of several games', which take them in turn.
   *
   * @param policies one per seat, or one for all; seats of the same object are one batch. @throws Error for another number.
   */
  assign(lease: Pick<Lease, "lease_id" | "seats">, policies: readonly Policy[]): void {
    const { lease_id, seats } = lease;
    const numAgents = this.#numAgents;
    const isWhole = seats.length > 0 && seats.length % numAgents === 0;
    if (!isWhole || (policies.length !== 1 && policies.length !== seats.length)) {
      throw new Error(
        `lease ${lease_id} has ${seats.length} seats and ${policies.length} policies, the game has ${numAgents} agents`,
      );
    }
    const policyOf = (seat: number): Policy => policies[policies.length === 1 ? 0 : seat];
    const distinct = [...new Set(policies)];
    this.groups = distinct.map((policy, index) => {
      const own = seats.map((_, seat) => seat).filter((seat) => policyOf(seat) === policy);
      return this.#group(index, policy, own, seats);
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

  #group(index: number, policy: Policy, own: readonly number[], seats: Lease["seats"]): ControllerGroup {
    const { capacity } = this.#batch;
    const isOwn = seats.map((_, seat) => own.includes(seat));
    const slots = Int32Array.from({ length: capacity }, (_, slot) => slot).filter(
      (slot) => isOwn[slot % seats.length],
    );
    const isDeterministic = Uint8Array.from(slots, (slot) =>
      seats[slot % seats.length].deterministic ? 1 : 0,
    );
    for (const [row, slot] of slots.entries()) {
      this.owners[slot] = index;
      this.#rows[slot] = row;
    }
    const batch =
      slots.length === capacity ? this.#batch : this.#stagingOf(`${own} of ${seats.length}`, slots.length);
    return { policy, slots, isDeterministic, batch };
  }

  #stagingOf(key: string, rows: number): ObservationBatch {
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
