/** Makes the sessions of one rollout thread: by the small player while that can play, else by ONNX Runtime. */

import { createPlayerSession, MAX_WORK } from "./player-session.ts";
import type { ModelPolicy } from "./policy.ts";
import {
  createPolicySession,
  type PolicyGame,
  type PolicySessionOptions,
  startInferenceEngine,
} from "./policy-session.ts";

/** Owned by the thread's entry, used by its worker. */
export class SessionMaker {
  readonly #askForEngine: () => void;
  #isAsked = false;
  #ready: () => void = () => undefined;
  /** Settles once ONNX Runtime can make sessions. */
  readonly #engine = new Promise<void>((resolve) => {
    this.#ready = resolve;
  });
  #hasEngine = false;

  /** @param askForEngine called once, when a policy needs ONNX Runtime and it is not here; `useEngine` answers. */
  constructor(askForEngine: () => void) {
    this.#askForEngine = askForEngine;
  }

  /** From now on ONNX Runtime plays: it is faster. Raises whatever the browser says of WebAssembly it cannot load. */
  async useEngine(wasm: Blob): Promise<void> {
    await startInferenceEngine(wasm);
    this.#hasEngine = true;
    this.#ready();
  }

  /** Raises as `createPolicySession`. */
  async create(onnx: Uint8Array, game: PolicyGame, options: PolicySessionOptions): Promise<ModelPolicy> {
    if (!this.#hasEngine) {
      const small = createPlayerSession(onnx, game, options, MAX_WORK.rollout);
      if (small !== null) return small;
      if (!this.#isAsked) this.#askForEngine();
      this.#isAsked = true;
      await this.#engine;
    }
    return createPolicySession(onnx, game, options);
  }
}
