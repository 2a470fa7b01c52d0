/** Random play of any action space: what conformance checks and previews drive games with. */

import type { Action } from "./contract.ts";
import type { Instance } from "./instance.ts";
import { createSequentialRandom, type GameRandom, type SequentialRandom, STREAM } from "./random.ts";
import { type ActionSpace, isScalarAction, leafLimits, numActionComponents, numChoices } from "./spaces.ts";

/** Draws legal actions, uniform over the space and over what a mask allows; owned by one player. */
export class RandomPlayer {
  readonly #stream: SequentialRandom = createSequentialRandom(STREAM.action);
  readonly #isScalar: boolean;
  /** Number of choices per component; null for a real number. */
  readonly #choices: readonly (number | null)[];
  readonly #limits: readonly (readonly [low: number, high: number])[];

  constructor(space: ActionSpace, seedLow = 0, seedHigh = 0) {
    const components = Array.from({ length: numActionComponents(space) }, (_, c) => c);
    this.#isScalar = isScalarAction(space);
    this.#choices = components.map((c) => numChoices(space, c));
    this.#limits = components.map((c) => leafLimits(space, c));
    this.#stream.reset(seedLow, seedHigh, 0, 0);
  }

  /** One agent's next action. `mask` as in `out.actionMask`, or empty for none. */
  act(mask: Uint8Array): Action {
    const choices = this.#choices;
    if (this.#isScalar) return this.#draw(mask, 0, 0);
    const action = choices[0] === null ? new Float32Array(choices.length) : new Array<number>(choices.length);
    let offset = 0;
    for (let c = 0; c < choices.length; c++) {
      action[c] = this.#draw(mask, offset, c);
      offset += choices[c] ?? 0;
    }
    return action;
  }

  /** Component `c`; of a mask its choices are the entries from `offset` on. */
  #draw(mask: Uint8Array, offset: number, c: number): number {
    const { random } = this.#stream;
    const n = this.#choices[c];
    if (n !== null) return pick(random, mask, offset, n);
    const [low, high] = this.#limits[c];
    return low + (high - low) * random();
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

const NO_MASK = new Uint8Array(0);

/** One action per agent, in the form `step` takes; the mask of an agent that does not play means nothing. */
export function drawActions(instance: Instance, player: RandomPlayer): Action | ArrayLike<Action> {
  return instance.numAgents === 1
    ? player.act(instance.masks[0])
    : instance.masks.map((mask, agent) => player.act(instance.active[agent] === 1 ? mask : NO_MASK));
}
