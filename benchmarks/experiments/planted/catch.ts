/** Nothing is wrong with it: a ball falls, a basket catches it. What is planted are settings. */

import { box, defineGame, discrete, type StartContext } from "attract";

export const COLUMNS = 7;
export const ROWS = 10;

export class Catch {
  ball = { x: 0, y: 0 };
  basket = 3;

  start({ random }: StartContext) {
    this.ball = { x: random.int(COLUMNS), y: 0 };
    this.basket = 3;
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    this.basket = Math.min(COLUMNS - 1, Math.max(0, this.basket + action - 1));
    this.ball.y += 1;
    const landed = this.ball.y === ROWS - 1;
    return { observation: this.observe(), reward: landed ? this.reward() : 0, terminated: landed };
  }

  reward() {
    return this.ball.x === this.basket ? 1 : -1;
  }

  observe() {
    return [this.ball.x / (COLUMNS - 1), this.ball.y / (ROWS - 1), this.basket / (COLUMNS - 1)];
  }
}

export const OPTIONS = {
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [3] }),
  action: discrete(["left", "stay", "right"]),
};

export default defineGame({ ...OPTIONS, id: "Catch-v1", create: () => new Catch() });
