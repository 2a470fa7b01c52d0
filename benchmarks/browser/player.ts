/** What ships inside a game in the place of ONNX Runtime, on the same model. */

import { Agent, type PolicyFiles } from "@attract/play";
import type { ObservationBatch } from "@attract/worker/game/observation-batch";

/** `agent.act` on the first row of a batch, as a game's page calls it. */
export class Player {
  readonly #agent: Agent;
  readonly #batch: ObservationBatch;

  /** @param batch of one entry, of a game without a mask; its numbers are read at each run. */
  constructor(files: PolicyFiles, batch: ObservationBatch) {
    this.#agent = new Agent(files);
    this.#batch = batch;
  }

  /** One decision; returns how many that were. */
  run(): number {
    this.#agent.act(this.#batch.views[0]);
    return 1;
  }
}
