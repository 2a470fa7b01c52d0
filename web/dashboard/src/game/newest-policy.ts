/** The newest policies at work on a stage: one version at a time, exchanged for a newer one between episodes. */

import { fetchModel, policyPath } from "../api/client.ts";
import { policyIdsOf } from "../state/seats.ts";
import type { Stage } from "./stage.ts";

/** Owned by the component that watches. */
export class NewestPolicy {
  readonly #runId: string;
  readonly #stage: Pick<Stage, "setPolicy">;
  readonly #policyIds: readonly (string | null)[];
  /** Index of the policy of each agent in `#policyIds`; a sole one plays all. */
  readonly #seats: readonly number[];
  #version = -1;

  /** @param seats id of the policy that plays each agent; empty: one plays them all. */
  constructor(runId: string, stage: Pick<Stage, "setPolicy">, seats: readonly string[]) {
    this.#runId = runId;
    this.#stage = stage;
    this.#policyIds = policyIdsOf(seats);
    this.#seats = this.#policyIds.length > 1 ? seats.map((name) => this.#policyIds.indexOf(name)) : [0];
  }

  /** The version that plays; -1 before the first. */
  get version(): number {
    return this.#version;
  }

  /**
   * Fetches the newest version and has the stage play with it from now on; nothing is done when that is `known`, which plays
   * already. Raises ApiError, and what ONNX Runtime says of a bad model.
   */
  async renew(known: number): Promise<void> {
    if (known === this.#version) return;
    // The newest by name, not by number: a busy page may learn of versions that the server has since deleted.
    const [firstId, ...otherIds] = this.#policyIds;
    const { version, onnx } = await fetchModel(policyPath(this.#runId, "latest", firstId));
    // All are there before the first of them is exchanged: agents of two versions never play together.
    const others = await Promise.all(
      otherIds.map((policyId) => fetchModel(policyPath(this.#runId, version, policyId))),
    );
    await this.#stage.setPolicy(version, [onnx, ...others.map((other) => other.onnx)], this.#seats);
    this.#version = version;
  }
}
