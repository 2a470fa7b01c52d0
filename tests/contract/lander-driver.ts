/** Plays bundled Lander on given draws and actions; run by `test_lander_gymnasium.py` as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import definition, { type Lander } from "../../web/games/lander/game.ts";
import type { GameRandom } from "../../web/sdk/src/random.ts";

interface Flight {
  /** What the game draws, in its order: twelve hills, two forces, two numbers per tick. */
  draws: number[];
  /** One per tick; null lets the pilot fly, for at most 1,000 ticks. */
  actions: number[] | null;
}

const [, , inputPath, outputPath] = process.argv;
const flights = JSON.parse(readFileSync(inputPath, "utf8")) as Flight[];
const weights = definition.rewardTerms as Record<string, number>;
const out = { observation: new Float32Array(8), actionMask: null };

/** The pilot of `test_lander_gymnasium.py`. */
function pilot([x, height, velocityX, velocityY, angle, spin, left, right]: Float32Array): number {
  const isStanding = left + right > 0;
  const wanted = Math.min(0.4, Math.max(-0.4, 0.5 * x + velocityX));
  const turn = isStanding ? 0 : 0.5 * (wanted - angle) - spin;
  const lift = (isStanding ? 0 : 0.5 * (0.55 * Math.abs(x) - height)) - 0.5 * velocityY;
  if (lift > Math.abs(turn) && lift > 0.05) return 2;
  if (turn < -0.05) return 3;
  return turn > 0.05 ? 1 : 0;
}

/** Per flight the rows [8 observations, reward, terminated]; row 0 is the start. */
const played = flights.map(({ draws, actions }) => {
  let next = 0;
  const random = Object.assign(() => draws[next++], { int: () => 0, normal: () => 0 }) as GameRandom;
  const game = definition.create() as Lander;
  game.start({ random, parameters: {}, out });
  const rows = [[...out.observation, 0, 0]];
  const ticks = actions?.length ?? 1000;
  for (let tick = 0; tick < ticks; tick++) {
    const action = actions === null ? pilot(out.observation) : actions[tick];
    const { rewardTerms, terminated } = game.update(definition.tickSeconds, action, out);
    let reward = 0;
    for (const [name, amount] of Object.entries(rewardTerms as Record<string, number>))
      reward += weights[name] * amount;
    rows.push([...out.observation, reward, terminated ? 1 : 0]);
    if (terminated) break;
  }
  return rows;
});
writeFileSync(outputPath, JSON.stringify(played));
