/** The policy at work on the page: one session at a time, exchanged for a newer version between episodes. */

import type { GameDescription } from "@attract/schema";
import type { PolicySession } from "@attract/worker/policy-session";
import type { GameInstance } from "attract/instance";
import { fetchBytes, policyPath } from "../api/client.ts";

/** Owned by the component that watches; `close` frees the session's memory. */
export class PolicyActor {
  readonly #runId: string;
  readonly #game: Pick<GameDescription, "observation" | "action">;
  #session: PolicySession | null = null;
  #version = -1;
  #isClosed = false;

  constructor(runId: string, game: Pick<GameDescription, "observation" | "action">) {
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
    const { createPolicySession } = await import("@attract/worker/policy-session");
    const session = await createPolicySession(onnx, this.#game, { maxBatch: 1, policyVersion: version });
    const old = this.#session;
    if (this.#isClosed) {
      await session.release();
      return;
    }
    this.#session = session;
    this.#version = version;
    await old?.release();
  }

  /** The most probable action for the instance's current observation. */
  async act(instance: GameInstance): Promise<number> {
    const session = this.#session;
    if (session === null) throw new Error("expected use() before act()");
    const view = instance.views[0];
    const parts = ArrayBuffer.isView(view) ? [view] : session.batch.entries.map((entry) => view[entry.name]);
    parts.forEach((part, i) => {
      session.batch.arrays[i].set(part as ArrayLike<number>);
    });
    return session.act({ deterministic: true });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const session = this.#session;
    this.#session = null;
    await session?.release();
  }
}
