/** Random play of any action space: what conformance checks and previews drive games with. */

import type { Action } from "./contract.ts";
import { createSequentialRandom, type GameRandom, type SequentialRandom, STREAM } from "./random.ts";
import { type ActionSpace, boxLimit, boxSize } from "./spaces.ts";

/** Draws legal actions, uniform over the space and over what a mask allows; owned by one player. */
export class RandomPlayer {
  readonly #space: ActionSpace;
  readonly #stream: SequentialRandom = createSequentialRandom(STREAM.action);

  constructor(space: ActionSpace, seedLow = 0, seedHigh = 0) {
    this.#space = space;
    this.#stream.reset(seedLow, seedHigh, 0, 0);
  }

  /** One agent's next action. `mask` as in `out.actionMask`, or empty for none. */
  act(mask: Uint8Array): Action {
    const { random } = this.#stream;
    const space = this.#space;
    switch (space.kind) {
      case "discrete":
        return pick(random, mask, 0, space.n);
      case "multi_discrete": {
        let offset = 0;
        return space.nvec.map((n) => {
          const choice = pick(random, mask, offset, n);
          offset += n;
          return choice;
        });
      }
      case "multi_binary":
        return Array.from({ length: space.n }, () => random.int(2));
      case "box":
        return Float32Array.from({ length: boxSize(space) }, (_, i) => {
          const low = boxLimit(space.low, i, -1);
          return low + (boxLimit(space.high, i, 1) - low) * random();
        });
    }
  }
}

function pick(random: GameRandom, mask: Uint8Array, offset: number, n: number): number {
  if (mask.length === 0) return random.int(n);
  let allowed = 0;
  for (let i = 0; i < n; i++) allowed += mask[offset + i];
  let left = random.int(allowed);
  for (let i = 0; i < n; i++) if (mask[offset + i] === 1 && left-- === 0) return i;
  return 0;
}
