/** Planted: a runner that gets up again after each fall, so that no episode ever ends; no time limit. */

import { box, defineGame, discrete, type StartContext } from "attract";

class Endless {
  distance = 0;
  gap = 0;
  random: StartContext["random"] = undefined as unknown as StartContext["random"];

  start({ random }: StartContext) {
    this.random = random;
    this.distance = 0;
    this.gap = 5;
    return [this.gap / 20];
  }

  update(_deltaTime: number, action: number) {
    this.gap -= 1;
    let reward = action === 1 ? -0.1 : 0.1;
    if (this.gap === 0) {
      if (action !== 1) reward = -1;
      this.gap = 5 + this.random.int(15);
    }
    this.distance += 1;
    return { observation: [this.gap / 20], reward };
  }
}

export default defineGame({
  id: "Endless-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(["run", "jump"]),
  create: () => new Endless(),
});
