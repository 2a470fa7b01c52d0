/** The newest policy at work on the page: one session at a time, exchanged for a newer version between episodes. */

import type { GameDescription } from "@attract/schema";
import type { PolicyActor } from "@attract/worker/policy-actor";
import type { PolicySession } from "@attract/worker/policy-session";
import type { Instance } from "attract/instance";
import type { Choice } from "attract/page/play";
import { fetchBytes, policyPath } from "../api/client.ts";

/** Owned by the component that watches; `close` frees the session's memory. */
export class NewestPolicy {
  readonly #runId: string;
  readonly #game: GameDescription;
  #session: PolicySession | null = null;
  #actor: PolicyActor | null = null;
  #version = -1;
  #isClosed = false;

  constructor(runId: string, game: GameDescription) {
    this.#runId = runId;
    this.#game = game;
  }

  /** The version that plays; -1 before the first. */
  get version(): number {
    return this.#version;
  }

  /** Fetches `version` and plays with it from now on. Raises ApiError, and what ONNX Runtime says of a bad model. */
  async use(version: number): Promise<void> {
    if (version === this.#version || this.#isClosed) return;
    const onnx = await fetchBytes(policyPath(this.#runId, version));
    const { createPolicySession, PolicyActor } = await import("@attract/worker/policy-actor");
    const maxBatch = this.#game.num_agents;
    const session = await createPolicySession(onnx, this.#game, { maxBatch, policyVersion: version });
    const old = this.#session;
    if (this.#isClosed) {
      await session.release();
      return;
    }
    this.#session = session;
    this.#version = version;
    if (this.#actor === null) this.#actor = new PolicyActor(session, this.#game);
    else this.#actor.session = session;
    await old?.release();
  }

  /** The most probable actions for the instance's current observations; `begins` as `Controller.choose` has it. */
  act(instance: Instance, begins: Uint8Array): Promise<Choice> {
    if (this.#actor === null) throw new Error("expected use() before act()");
    return this.#actor.act(instance, begins);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const session = this.#session;
    this.#session = null;
    this.#actor = null;
    await session?.release();
  }
}
