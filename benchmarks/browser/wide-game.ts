/** A game of 64 numbers whose tick costs next to nothing: what is left is the policy and the collection around it. */

import type { GameDefinition, Out, StartContext, UpdateResult } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";

const SIZE = 64;
const STEPS_PER_EPISODE = 500;

class WideGame {
  #tick = 0;
  /** One object for all ticks: the hot loop allocates nothing. */
  readonly #result = { reward: 0 };

  start({ random, out }: StartContext<Float32Array>): void {
    this.#tick = 0;
    for (let i = 0; i < SIZE; i++) out.observation[i] = 2 * random() - 1;
  }

  /** Moves one number of the 64 by the action. */
  update(_deltaTime: number, action: number, { observation }: Out<Float32Array>): UpdateResult {
    const at = this.#tick++ % SIZE;
    observation[at] = (action - 1.5 - observation[at]) / 2;
    this.#result.reward = observation[at];
    return this.#result;
  }
}

const wideGame: GameDefinition = defineGame({
  id: "Wide-v1",
  tickSeconds: 0.02,
  maxSeconds: 0.02 * STEPS_PER_EPISODE,
  observation: box({ shape: [SIZE], low: -3, high: 3 }),
  action: discrete(4),
  create: () => new WideGame(),
});

export default wideGame;
