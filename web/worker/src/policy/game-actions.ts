/** What games are stepped with: the one agent's action, or those of all agents together. */

import type { Action } from "attract/contract";
import type { ActionSampler } from "./action-sampler.ts";

/** Actions of games, read from `sampler`, which holds those of all agents, instance-major. Allocates nothing after creation. */
export class GameActions {
  readonly #sampler: ActionSampler;
  readonly #numAgents: number;
  /** What a game of several agents is given: the same array every time. */
  readonly #group: Action[];

  constructor(sampler: ActionSampler, numAgents: number) {
    this.#sampler = sampler;
    this.#numAgents = numAgents;
    this.#group = new Array<Action>(numAgents).fill(0);
  }

  /** Actions of game `i`, valid until the next call or its agents' next actions. Inactive agents have zeros, or a box's middle. */
  of(i: number): Action | readonly Action[] {
    const numAgents = this.#numAgents;
    if (numAgents === 1) return this.#sampler.gameAction(i);
    for (let agent = 0; agent < numAgents; agent++) {
      this.#group[agent] = this.#sampler.gameAction(i * numAgents + agent);
    }
    return this.#group;
  }
}
