/** The policies at work on a stage: all of one version, exchanged for another as it is asked for. */

import { fetchModel, policyPath } from "../api/client.ts";
import { policyIdsOf } from "../state/seats.ts";
import type { Stage } from "./stage.ts";

/** Owned by the component that watches. */
export class WatchedPolicy {
  readonly #runId: string;
  readonly #stage: Pick<Stage, "setPolicy">;
  readonly #policyIds: readonly (string | null)[];
  /** Index of the policy of each agent in `#policyIds`; a sole one plays all. */
  readonly #seats: readonly number[];
  readonly #fetch: typeof fetchModel;
  #version = -1;
  /** Number of the call that counts: the last one. */
  #order = 0;
  /** Settles when the call before is done. */
  #busy: Promise<unknown> = Promise.resolve();

  /** @param seats id of the policy that plays each agent; empty: one plays them all. */
  constructor(
    runId: string,
    stage: Pick<Stage, "setPolicy">,
    seats: readonly string[],
    fetch: typeof fetchModel = fetchModel,
  ) {
    this.#runId = runId;
    this.#stage = stage;
    this.#policyIds = policyIdsOf(seats);
    this.#seats = this.#policyIds.length > 1 ? seats.map((name) => this.#policyIds.indexOf(name)) : [0];
    this.#fetch = fetch;
  }

  /** The version that plays; -1 before the first. */
  get version(): number {
    return this.#version;
  }

  /**
   * Fetches a version and has the stage play with it from now on; false when it plays already, or when another was asked for
   * meanwhile. Raises ApiError, and what ONNX Runtime says of a bad model.
   *
   * @param chosen null: the newest, of which nothing is done when that is `known`, which plays already.
   */
  async play(chosen: number | null, known: number): Promise<boolean> {
    this.#order += 1;
    const order = this.#order;
    const turn = this.#busy.then(() =>
      order !== this.#order || (chosen ?? known) === this.#version ? false : this.#exchange(chosen),
    );
    this.#busy = turn.catch(() => undefined);
    return turn;
  }

  async #exchange(chosen: number | null): Promise<boolean> {
    // The newest by name, not by number: a busy page may learn of versions that the server has since deleted.
    const [firstId, ...otherIds] = this.#policyIds;
    const { version, onnx } = await this.#fetch(policyPath(this.#runId, chosen ?? "latest", firstId));
    // All are there before the first of them is exchanged: agents of two versions never play together.
    const others = await Promise.all(
      otherIds.map((policyId) => this.#fetch(policyPath(this.#runId, version, policyId))),
    );
    await this.#stage.setPolicy(version, [onnx, ...others.map((other) => other.onnx)], this.#seats);
    this.#version = version;
    return true;
  }
}
