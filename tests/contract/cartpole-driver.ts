/** Plays bundled CartPole from given states and actions; run by `test_cartpole_gymnasium.py` as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import definition, { type CartPole } from "../../web/games/cartpole/game.ts";
import { GameInstance } from "../../web/sdk/src/instance.ts";

interface Sequence {
  state: [number, number, number, number];
  actions: number[];
}

const [, , inputPath, outputPath] = process.argv;
const sequences = JSON.parse(readFileSync(inputPath, "utf8")) as Sequence[];
const instance = new GameInstance(definition);

/** Per sequence the rows [4 observations, reward, terminated, truncated] until the episode's end. */
const played = sequences.map(({ state, actions }, episode) => {
  instance.start(episode);
  (instance.game as CartPole).state.set(state);
  const rows: number[][] = [];
  for (const action of actions) {
    if (instance.episodeOver) break;
    instance.step(action);
    const observation = instance.views[0] as Float32Array;
    rows.push([...observation, instance.rewards[0], instance.terminated[0], instance.truncated[0]]);
  }
  return rows;
});
writeFileSync(outputPath, JSON.stringify(played));
