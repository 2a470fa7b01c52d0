/** Pull the right one of three levers first; what it was worth is known eight steps later. Planted: gamma 0. */

import { box, defineGame, discrete, type StartContext } from "attract";

const WAIT = 8;

class Lever {
  shown = 0;
  pulled = 0;
  step = 0;

  start({ random }: StartContext) {
    this.shown = random.int(3);
    this.pulled = 0;
    this.step = 0;
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    if (this.step === 0) this.pulled = action;
    this.step += 1;
    const isOver = this.step === WAIT;
    const reward = isOver && this.pulled === this.shown ? 1 : 0;
    return { observation: this.observe(), reward, terminated: isOver };
  }

  observe() {
    return [this.shown / 2, this.pulled / 2, this.step / WAIT];
  }
}

export default defineGame({
  id: "Lever-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [3] }),
  action: discrete(3),
  create: () => new Lever(),
});
