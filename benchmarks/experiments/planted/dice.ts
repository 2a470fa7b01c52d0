/** Planted: the reward is a throw of dice that neither the observation nor the actions have to do with. */

import { box, defineGame, discrete, type StartContext } from "attract";

class Dice {
  step = 0;
  random: StartContext["random"] = undefined as unknown as StartContext["random"];

  start({ random }: StartContext) {
    this.random = random;
    this.step = 0;
    return [random()];
  }

  update() {
    this.step += 1;
    const reward = this.random.int(6) + this.random.int(6) - 5;
    return { observation: [this.random()], reward, terminated: this.step === 20 };
  }
}

export default defineGame({
  id: "Dice-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(4),
  create: () => new Dice(),
});
