/** Records episodes of bundled games as a worker does: `node driver.mjs IN OUT`, of actions that repeat. */

import { readFileSync, writeFileSync } from "node:fs";
import { EpisodeTape } from "@attract/worker/episode/episode-tape";
import { createInstance } from "attract/group-instance";
import cartpole from "../../web/games/cartpole/game.ts";
import snake from "../../web/games/snake/game.ts";

interface Order {
  game: "cartpole" | "snake";
  /** Taken one after the other, again and again. */
  actions: number[];
  num_steps: number;
  episode: number;
  parameters: Record<string, number>;
}

const GAMES = { cartpole, snake };
const SEED = { low: 3, high: 4 };

function record({ game, actions, num_steps: numSteps, episode, parameters }: Order) {
  const definition = GAMES[game];
  const instance = createInstance(definition, { seedLow: SEED.low, seedHigh: SEED.high, instanceId: 2 });
  const tape = new EpisodeTape(definition);
  tape.begin(parameters);
  instance.start(episode, parameters);
  for (let step = 0; step < numSteps && !instance.episodeOver; step++) {
    const action = actions[step % actions.length];
    tape.add(instance, [action], 0);
    instance.step(action);
  }
  const seat = { player: "script" as const, policy_id: null, policy_version: null, deterministic: false };
  const terms = { run_id: null, seed: SEED, lesson_id: null, seats: [seat] };
  return tape.recorded(instance, terms, instance.endReason);
}

const [from, to] = process.argv.slice(2);
const orders = JSON.parse(readFileSync(from, "utf8")) as Order[];
writeFileSync(to, JSON.stringify(orders.map(record)));
