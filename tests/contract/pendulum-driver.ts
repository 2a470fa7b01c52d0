/** Plays bundled Pendulum from given states and torques; run by `test_pendulum_gymnasium.py` as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import definition, { type Pendulum } from "../../web/games/pendulum/game.ts";
import { GameInstance } from "../../web/sdk/src/instance.ts";

interface Sequence {
  state: [number, number];
  torques: number[];
}

const [, , inputPath, outputPath] = process.argv;
const sequences = JSON.parse(readFileSync(inputPath, "utf8")) as Sequence[];
const instance = new GameInstance(definition);

/** Per sequence the rows [3 observations, reward, terminated, truncated] until the episode's end. */
const played = sequences.map(({ state, torques }, episode) => {
  instance.start(episode);
  (instance.game as Pendulum).state.set(state);
  const rows: number[][] = [];
  for (const torque of torques) {
    if (instance.episodeOver) break;
    instance.step([torque]);
    const observation = instance.views[0] as Float32Array;
    rows.push([...observation, instance.rewards[0], instance.terminated[0], instance.truncated[0]]);
  }
  return rows;
});
writeFileSync(outputPath, JSON.stringify(played));
