/** A player that is a program outside of the browser. */

import type { EpisodeSeat } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { AskedSlots, type AskOutside } from "../../worker/src/policy/outside-policy.ts";
import { type Player, SCRIPT } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";

/** Plays all agents. An episode stops, and counts, once its time is over: a slow program ends few. */
export class OutsidePlayer implements Player {
  readonly seat: EpisodeSeat;
  readonly recorded = null;
  readonly #asked: AskedSlots;
  readonly #isOver: () => boolean;

  constructor(name: string, definition: GameDefinition, ask: AskOutside, isOver: () => boolean) {
    this.seat = { ...SCRIPT, policy_id: name };
    this.#asked = new AskedSlots(name, definition, definition.numAgents ?? 1, ask);
    this.#isOver = isOver;
  }

  begin(): void {}

  async think({ active, views }: Instance, { masks }: PlayerActions): Promise<void> {
    const agents = Array.from(active.keys()).filter((agent) => active[agent] === 1);
    if (agents.length > 0 && !this.#isOver()) await this.#asked.ask(views, masks, agents);
  }

  act({ active }: Instance, _step: number, actions: PlayerActions): boolean {
    if (this.#isOver()) return false;
    for (let agent = 0; agent < actions.numAgents; agent++) {
      if (active[agent] === 1) actions.give(this.#asked.action(agent), 0, agent);
      else actions.rest(agent);
    }
    return true;
  }
}
