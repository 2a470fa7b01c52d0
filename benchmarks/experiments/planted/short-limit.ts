/** Planted: the door is 40 steps away and the time limit ends every episode after 30; only the wind pays. */

import { box, defineGame, discrete, type StartContext } from "attract";

const DOOR = 40;

class ShortLimit {
  x = 0;
  wind = 0;
  random: StartContext["random"] = undefined as unknown as StartContext["random"];

  start({ random }: StartContext) {
    this.random = random;
    this.x = 0;
    this.wind = random();
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    this.x = Math.max(0, this.x + (action === 1 ? 1 : -1));
    const reward = this.x === DOOR ? 10 : -0.1 * this.wind;
    this.wind = this.random();
    return { observation: this.observe(), reward, terminated: this.x === DOOR };
  }

  observe() {
    return [this.x / DOOR, this.wind];
  }
}

export default defineGame({
  id: "ShortLimit-v1",
  tickSeconds: 0.1,
  maxSeconds: 3,
  observation: box({ low: 0, high: 1, shape: [2] }),
  action: discrete(["back", "on"]),
  create: () => new ShortLimit(),
});
