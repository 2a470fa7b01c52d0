/** Planted: the only reward lies in the far corner of a field that random steps do not cross. */

import { box, defineGame, discrete } from "attract";

const SIZE = 61;
const MOVES = [
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
];

class FarGoal {
  x = 0;
  y = 0;

  start() {
    this.x = 0;
    this.y = 0;
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    this.x = clamp(this.x + MOVES[action][0]);
    this.y = clamp(this.y + MOVES[action][1]);
    const isThere = this.x === SIZE - 1 && this.y === SIZE - 1;
    return { observation: this.observe(), reward: isThere ? 1 : 0, terminated: isThere };
  }

  observe() {
    return [this.x / (SIZE - 1), this.y / (SIZE - 1)];
  }
}

function clamp(value: number) {
  return Math.min(SIZE - 1, Math.max(0, value));
}

export default defineGame({
  id: "FarGoal-v1",
  tickSeconds: 0.1,
  maxSeconds: 20,
  observation: box({ low: 0, high: 1, shape: [2] }),
  action: discrete(["up", "down", "left", "right"]),
  create: () => new FarGoal(),
});
