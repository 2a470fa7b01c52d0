/** Agents as what `createPlayer` of `attract/page` asks for actions. */

import type { Agent, Observation } from "./agent.ts";
import { type FlatAction, flatAction, type Mask } from "./choice.ts";

/** What is read of a game's instance; per agent. */
export interface Seen {
  readonly views: readonly Observation[];
  /** Empty ones where the game has no masks. */
  readonly masks: readonly Mask[];
  /** 1 where the agent takes part in the next step. */
  readonly active: ArrayLike<number>;
}

export interface AgentController {
  /**
   * An action as an instance takes it, a mixed one flat, or in a game of several agents one for each. `begins`: 1 where a new
   * trajectory begins.
   */
  choose(seen: Seen, begins: ArrayLike<number>): FlatAction | FlatAction[];
}

/**
 * One agent for each player of the game, in their order; no two players share one, which has a memory.
 *
 * An inactive agent keeps its last action, which is not read.
 */
export function controllerOf(agents: readonly Agent[]): AgentController {
  const held: FlatAction[] = agents.map(() => 0);
  return {
    choose({ views, masks, active }, begins) {
      agents.forEach((agent, i) => {
        if (begins[i] === 1) agent.reset();
        if (active[i] !== 1) return;
        held[i] = flatAction(agent.act(views[i], { mask: masks[i].length > 0 ? masks[i] : null }));
      });
      return agents.length === 1 ? held[0] : [...held];
    },
  };
}
