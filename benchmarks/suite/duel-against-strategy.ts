/** The duel for one agent: its simple strategy plays the other paddle, so that the return says who won. */

import { defineGame, type GameDefinition, type StartContext } from "attract";
import duel, { type Duel } from "./duel.ts";
import { type Strategy, strategies } from "./strategies.ts";

class DuelAgainstStrategy {
  duel = duel.create() as Duel;
  strategy!: Strategy;
  /** The agent's paddle: left or right, as drawn. */
  seat = 0;

  start(context: StartContext) {
    this.seat = context.random.int(2);
    this.strategy = strategies.duel.create(context.random);
    return this.duel.start(context)[this.seat];
  }

  update(deltaTime: number, action: number) {
    const actions = [action, action];
    actions[1 - this.seat] = this.strategy(this.duel.observe(1 - this.seat), []) as number;
    const { observation, reward, terminated } = this.duel.update(deltaTime, actions);
    return { observation: observation[this.seat], reward: reward[this.seat], terminated };
  }
}

const { numAgents: _, ...options }: GameDefinition = duel;

export default defineGame({
  ...options,
  id: "Duel-against-strategy-v1",
  create: () => new DuelAgainstStrategy(),
});
