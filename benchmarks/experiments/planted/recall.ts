/** Planted: what is to be said at the end was shown at the start only, and the policy has no memory. */

import { box, defineGame, discrete, type StartContext } from "attract";

const ASKED_AT = 6;

class Recall {
  shown = 0;
  step = 0;

  start({ random }: StartContext) {
    this.shown = random.int(4);
    this.step = 0;
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    const isAsked = this.step === ASKED_AT;
    const reward = isAsked ? (action === this.shown ? 1 : -1) : 0;
    this.step += 1;
    return { observation: this.observe(), reward, terminated: isAsked };
  }

  observe() {
    return [this.step === 0 ? (this.shown + 1) / 4 : 0, this.step / ASKED_AT];
  }
}

export default defineGame({
  id: "Recall-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1.2, shape: [2] }),
  action: discrete(4),
  create: () => new Recall(),
});
