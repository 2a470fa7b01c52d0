/** What the agents of one game do in the next step, as a player writes it: only what the game's masks allow. */

import type { Action, GameDefinition } from "attract/contract";
import type { GameRandom } from "attract/random";
import { actionMaskSize, maskGroups } from "attract/spaces";
import type { ActionSampler } from "../../worker/src/policy/action-sampler.ts";
import { GameActions } from "../../worker/src/policy/game-actions.ts";
import { createSampler } from "../../worker/src/policy/sampler.ts";

/** Owned by one playtest; allocates nothing after creation. */
export class PlayerActions {
  readonly numAgents: number;
  readonly numComponents: number;
  /** Per agent, for the game to write to; empty where it has no masks. */
  readonly masks: readonly Uint8Array[];
  readonly #sampler: ActionSampler;
  readonly #actions: GameActions;
  /** Masks of all agents, one after the other. */
  readonly #allMasks: Uint8Array;
  /** Choices per component; empty where nothing is masked. */
  readonly #groups: readonly number[];

  constructor({ action, actionMask, numAgents = 1 }: GameDefinition) {
    const maskSize = actionMask === true ? actionMaskSize(action) : 0;
    this.numAgents = numAgents;
    this.#sampler = createSampler(action, numAgents);
    this.numComponents = this.#sampler.numComponents;
    this.#actions = new GameActions(this.#sampler, numAgents);
    this.#allMasks = new Uint8Array(numAgents * maskSize);
    this.masks = Array.from({ length: numAgents }, (_, agent) =>
      this.#allMasks.subarray(agent * maskSize, (agent + 1) * maskSize),
    );
    this.#groups = maskSize > 0 ? maskGroups(action) : [];
  }

  /** [agents * components] as they travel. */
  get row(): ArrayLike<number> {
    return this.#sampler.actions;
  }

  /** What the game is stepped with, until an agent's next action. */
  get ofGame(): Action | readonly Action[] {
    return this.#actions.of(0);
  }

  /** Takes row `row` of `actions`, [rows, components] as they travel; the first that is allowed in the place of what is not. */
  give(actions: ArrayLike<number>, row: number, agent: number): void {
    this.#sampler.give(actions, row, agent);
    const mask = this.masks[agent];
    const own = this.#sampler.actions;
    let offset = 0;
    for (let c = 0; c < this.#groups.length; c++) {
      const at = agent * this.numComponents + c;
      if (mask[offset + own[at]] !== 1) own[at] = Math.max(0, mask.indexOf(1, offset) - offset);
      offset += this.#groups[c];
    }
  }

  /** Whether the mask allows row `row` of `actions`. */
  allows(actions: ArrayLike<number>, row: number, agent: number): boolean {
    const mask = this.masks[agent];
    let offset = 0;
    for (let c = 0; c < this.#groups.length; c++) {
      if (mask[offset + actions[row * this.numComponents + c]] !== 1) return false;
      offset += this.#groups[c];
    }
    return true;
  }

  /** Draws uniformly over what is allowed. */
  draw(agent: number, random: GameRandom): void {
    const { uniforms, numDraws } = this.#sampler;
    for (let draw = agent * numDraws; draw < (agent + 1) * numDraws; draw++) uniforms[draw] = random();
    this.#sampler.sampleUniform(this.#allMasks, agent);
  }

  /** The agent takes no part. */
  rest(agent: number): void {
    this.#sampler.rest(agent);
  }
}
