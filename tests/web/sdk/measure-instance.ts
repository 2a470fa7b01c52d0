/** Plays CartPole through the instance and bare, and prints heap growth and times as JSON; run with `--expose-gc`. */

import definition, { CartPole } from "../../../web/games/cartpole/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { createSequentialRandom, STREAM } from "../../../web/sdk/src/random.ts";

const STEPS = 1_000_000;
const ROUNDS = 5;
const STRETCHES = 21;
const STRETCH_STEPS = 10_000;
const { gc } = globalThis as unknown as { gc(): void };

const instance = new GameInstance(definition);
let episode = 0;
function playInstance(steps = STEPS): void {
  for (let i = 0; i < steps; i++) {
    instance.step(i & 1);
    if (instance.episodeOver) instance.start(++episode);
  }
}

const game = new CartPole();
const { random } = createSequentialRandom(STREAM.game);
const out = { observation: new Float32Array(4), actionMask: null };
const context = { random, parameters: {}, out };
function playBare(): void {
  for (let i = 0; i < STEPS; i++) {
    if (game.update(0.02, i & 1, out).terminated === true) game.start(context);
  }
}

function nanosecondsPerStep(play: () => void): number {
  const before = process.cpuUsage();
  play();
  const used = process.cpuUsage(before);
  return ((used.user + used.system) * 1000) / STEPS;
}

instance.start(0);
game.start(context);
const instanceTimes: number[] = [];
const bareTimes: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  bareTimes.push(nanosecondsPerStep(playBare));
  instanceTimes.push(nanosecondsPerStep(playInstance));
}
gc();
const before = process.memoryUsage().heapUsed;
playInstance();
gc();
const after = process.memoryUsage().heapUsed;
// Stretches so short that no collection falls into the middle one of them.
const garbage = Array.from({ length: STRETCHES }, () => {
  const start = process.memoryUsage().heapUsed;
  playInstance(STRETCH_STEPS);
  return (process.memoryUsage().heapUsed - start) / STRETCH_STEPS;
}).sort((a, b) => a - b);
console.log(
  JSON.stringify({
    heapGrowthBytes: after - before,
    garbageBytesPerStep: garbage[STRETCHES >> 1],
    instanceNanoseconds: Math.min(...instanceTimes),
    bareNanoseconds: Math.min(...bareTimes),
  }),
);
