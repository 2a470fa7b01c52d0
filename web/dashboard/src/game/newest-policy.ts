/** The newest policies at work on the page: one version at a time, exchanged for a newer one between episodes. */

import type { GameDescription } from "@attract/schema";
import type { PolicyActor } from "@attract/worker/policy-actor";
import type { PolicySession } from "@attract/worker/policy-session";
import type { Instance } from "attract/instance";
import type { Choice } from "attract/page/play";
import { fetchModel, policyPath } from "../api/client.ts";
import { policyIdsOf } from "../state/seats.ts";

/** Owned by the component that watches; `close` frees the sessions' memory. */
export class NewestPolicy {
  readonly #runId: string;
  readonly #game: GameDescription;
  readonly #policyIds: readonly (string | null)[];
  /** Index of the policy of each agent in `#policyIds`; a sole one plays all. */
  readonly #seats: readonly number[];
  #sessions: readonly PolicySession[] = [];
  #actor: PolicyActor | null = null;
  #version = -1;
  #isClosed = false;

  /** @param seats id of the policy that plays each agent; empty: one plays them all. */
  constructor(runId: string, game: GameDescription, seats: readonly string[]) {
    this.#runId = runId;
    this.#game = game;
    this.#policyIds = policyIdsOf(seats);
    this.#seats = this.#policyIds.length > 1 ? seats.map((name) => this.#policyIds.indexOf(name)) : [0];
  }

  /** The version that plays; -1 before the first. */
  get version(): number {
    return this.#version;
  }

  /**
   * Fetches the newest version and plays with it from now on; nothing is done when that is `known`, which plays already.
   * Raises ApiError, and what ONNX Runtime says of a bad model.
   */
  async renew(known: number): Promise<void> {
    if (known === this.#version || this.#isClosed) return;
    // The newest by name, not by number: a busy page hears of versions that the server has let go since.
    const [firstId, ...otherIds] = this.#policyIds;
    const { version, onnx } = await fetchModel(policyPath(this.#runId, "latest", firstId));
    // All are there before the first of them is exchanged: agents of two versions never play together.
    const others = await Promise.all(
      otherIds.map((policyId) => fetchModel(policyPath(this.#runId, version, policyId))),
    );
    const models = [onnx, ...others.map((other) => other.onnx)];
    const { createPolicySession, PolicyActor } = await import("@attract/worker/policy-actor");
    const options = { maxBatch: this.#game.num_agents, policyVersion: version };
    const sessions: PolicySession[] = [];
    for (const onnx of models) sessions.push(await createPolicySession(onnx, this.#game, options));
    const old = this.#sessions;
    if (this.#isClosed) {
      await release(sessions);
      return;
    }
    this.#sessions = sessions;
    this.#version = version;
    const seated = this.#seats.map((index) => sessions[index]);
    if (this.#actor === null) this.#actor = new PolicyActor(seated, this.#game);
    else this.#actor.sessions = seated;
    await release(old);
  }

  /** The most probable actions for the instance's current observations; `begins` as `Controller.choose` has it. */
  act(instance: Instance, begins: Uint8Array): Promise<Choice> {
    if (this.#actor === null) throw new Error("expected renew() before act()");
    return this.#actor.act(instance, begins);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const sessions = this.#sessions;
    this.#sessions = [];
    this.#actor = null;
    await release(sessions);
  }
}

async function release(sessions: readonly PolicySession[]): Promise<void> {
  for (const session of sessions) await session.release();
}
