/** Plays our games of Gymnasium's rules, also from given states; run by tests as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import acrobot from "../../benchmarks/suite/acrobot.ts";
import cartPole from "../../benchmarks/suite/cart-pole.ts";
import mountainCar from "../../benchmarks/suite/mountain-car.ts";
import mountainCarContinuous from "../../benchmarks/suite/mountain-car-continuous.ts";
import cartpole from "../../web/games/cartpole/game.ts";
import lander from "../../web/games/lander/game.ts";
import pendulum from "../../web/games/pendulum/game.ts";
import type { GameDefinition } from "../../web/sdk/src/contract.ts";
import { GameInstance } from "../../web/sdk/src/instance.ts";

interface Order {
  game: string;
  seed: { low: number; high: number };
  /** An episode each, of instance i; `fields` are set on the game after its start, and left as they are when null. */
  sequences: { fields: Record<string, number | number[]> | null; actions: (number | number[])[] }[];
}

const games: Record<string, GameDefinition> = {
  cartpole,
  lander,
  pendulum,
  acrobot,
  "cart-pole": cartPole,
  "mountain-car": mountainCar,
  "mountain-car-continuous": mountainCarContinuous,
};
const [, , inputPath, outputPath] = process.argv;
const { game, seed, sequences } = JSON.parse(readFileSync(inputPath, "utf8")) as Order;
const instance = new GameInstance(games[game]);

/** Per sequence the observation at the start, then rows [observation, reward, terminated, truncated] until the end. */
const played = sequences.map(({ fields, actions }, i) => {
  instance.setStream(seed.low, seed.high, i);
  instance.start(0);
  const rows: number[][] = [[...(instance.views[0] as Float32Array), 0, 0, 0]];
  Object.assign(instance.game, fields);
  for (const action of actions) {
    if (instance.episodeOver) break;
    instance.step(action);
    const seen = instance.views[0] as Float32Array;
    rows.push([...seen, instance.rewards[0], instance.terminated[0], instance.truncated[0]]);
  }
  return rows;
});
writeFileSync(outputPath, JSON.stringify(played));
