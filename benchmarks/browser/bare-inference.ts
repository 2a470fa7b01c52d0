/** The second of the two things a step cannot do without: a run of the policy. */

import type { ObservationBatch } from "@attract/worker/game/observation-batch";
import * as ort from "onnxruntime-web/wasm";

/** `session.run` of the same model on the same number of rows, awaited one after another. */
export class BareInference {
  readonly #session: ort.InferenceSession;
  readonly #feeds: Record<string, ort.Tensor>;
  readonly #rows: number;

  private constructor(session: ort.InferenceSession, batch: ObservationBatch) {
    this.#session = session;
    this.#rows = batch.capacity;
    const { dtype, shape } = batch.entries[0];
    this.#feeds = { obs: new ort.Tensor(dtype, batch.arrays[0], [batch.capacity, ...shape]) };
  }

  /** @param batch of one entry; its numbers are read at each run. */
  static async create(onnx: Uint8Array, batch: ObservationBatch): Promise<BareInference> {
    return new BareInference(
      await ort.InferenceSession.create(onnx, { executionProviders: ["wasm"] }),
      batch,
    );
  }

  /** One run; returns its rows. */
  async run(): Promise<number> {
    await this.#session.run(this.#feeds);
    return this.#rows;
  }

  async release(): Promise<void> {
    await this.#session.release();
  }
}
