/** Players that look at nothing: one holds an action, one draws actions, one draws them and keeps each for a while. */

import type { EpisodeSeat, Seed } from "@attract/schema";
import type { Instance } from "attract/instance";
import { type Player, PlayerChance, SCRIPT } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";

/** Probability with which a sticky player keeps its action. */
const STICKINESS = 0.9;

export class HoldingPlayer implements Player {
  readonly seat = SCRIPT;
  readonly recorded = null;
  readonly #action: readonly number[];

  /** @param action as it travels. */
  constructor(action: readonly number[]) {
    this.#action = action;
  }

  begin(): void {}

  act({ active }: Instance, _step: number, actions: PlayerActions): boolean {
    for (let agent = 0; agent < actions.numAgents; agent++) {
      if (active[agent] === 1) actions.give(this.#action, 0, agent);
      else actions.rest(agent);
    }
    return true;
  }
}

export class RandomPlayer implements Player {
  readonly seat: EpisodeSeat = { ...SCRIPT, player: "random" };
  readonly recorded = null;
  readonly #chance: PlayerChance;

  constructor(seed: Seed) {
    this.#chance = new PlayerChance(seed, "random");
  }

  begin(index: number): void {
    this.#chance.begin(index);
  }

  act({ active }: Instance, _step: number, actions: PlayerActions): boolean {
    for (let agent = 0; agent < actions.numAgents; agent++) {
      if (active[agent] === 1) actions.draw(agent, this.#chance.random);
      else actions.rest(agent);
    }
    return true;
  }
}

export class StickyPlayer implements Player {
  readonly seat = SCRIPT;
  readonly recorded = null;
  readonly #chance: PlayerChance;
  /** [agents * components], what each agent did last. */
  readonly #kept: Float64Array;

  constructor(seed: Seed, { numAgents, numComponents }: PlayerActions) {
    this.#chance = new PlayerChance(seed, "sticky");
    this.#kept = new Float64Array(numAgents * numComponents);
  }

  begin(index: number): void {
    this.#chance.begin(index);
  }

  act({ active }: Instance, step: number, actions: PlayerActions): boolean {
    const kept = this.#kept;
    const { random } = this.#chance;
    const size = actions.numComponents;
    for (let agent = 0; agent < actions.numAgents; agent++) {
      if (active[agent] !== 1) {
        actions.rest(agent);
        continue;
      }
      const keeps = step > 0 && random() < STICKINESS;
      if (keeps && actions.allows(kept, agent, agent)) {
        actions.give(kept, agent, agent);
        continue;
      }
      actions.draw(agent, random);
      for (let at = agent * size; at < (agent + 1) * size; at++) kept[at] = actions.row[at];
    }
    return true;
  }
}
