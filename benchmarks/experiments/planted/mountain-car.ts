/** Gymnasium's MountainCar-v0: -1 a step until a goal that random play does not reach within 200 steps. */

import { box, defineGame, discrete, type StartContext } from "attract";

class MountainCar {
  position = 0;
  velocity = 0;

  start({ random }: StartContext) {
    this.position = -0.6 + 0.2 * random();
    this.velocity = 0;
    return [this.position, this.velocity];
  }

  update(_deltaTime: number, action: number) {
    const push = (action - 1) * 0.001 - 0.0025 * Math.cos(3 * this.position);
    this.velocity = Math.min(0.07, Math.max(-0.07, this.velocity + push));
    this.position = Math.min(0.6, Math.max(-1.2, this.position + this.velocity));
    if (this.position === -1.2 && this.velocity < 0) this.velocity = 0;
    return {
      observation: [this.position, this.velocity],
      reward: -1,
      terminated: this.position >= 0.5,
    };
  }
}

export default defineGame({
  id: "MountainCar-v0",
  tickSeconds: 0.1,
  maxSeconds: 20,
  observation: box({ low: [-1.2, -0.07], high: [0.6, 0.07], shape: [2] }),
  action: discrete(["left", "none", "right"]),
  create: () => new MountainCar(),
});
