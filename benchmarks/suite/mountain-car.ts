/** MountainCar-v0 by Gymnasium's rules: an engine too weak for the hill, -1 a step until the flag. */

import { box, type Context2D, defineGame, discrete, type StartContext } from "attract";

const MIN_X = -1.2;
const MAX_X = 0.6;
const MAX_SPEED = 0.07;
const FLAG = 0.5;
const FORCE = 0.001;
const GRAVITY = 0.0025;

export class MountainCar {
  x = 0;
  speed = 0;

  start({ random }: StartContext) {
    this.x = -0.6 + 0.2 * random();
    this.speed = 0;
    return [this.x, this.speed];
  }

  update(_deltaTime: number, action: number) {
    this.speed += (action - 1) * FORCE - Math.cos(3 * this.x) * GRAVITY;
    this.speed = Math.min(MAX_SPEED, Math.max(-MAX_SPEED, this.speed));
    this.x = Math.min(MAX_X, Math.max(MIN_X, this.x + this.speed));
    if (this.x === MIN_X && this.speed < 0) this.speed = 0;
    const terminated = this.x >= FLAG && this.speed >= 0;
    return { observation: [this.x, this.speed], reward: -1, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const left = (x: number) => ((x - MIN_X) / (MAX_X - MIN_X)) * width;
    const top = (x: number) => height * (0.9 - 0.7 * (0.45 * Math.sin(3 * x) + 0.55));
    context.clearRect(0, 0, width, height);
    context.beginPath();
    context.moveTo(left(MIN_X), top(MIN_X));
    for (let x = MIN_X; x <= MAX_X; x += 0.02) context.lineTo(left(x), top(x));
    context.stroke();
    context.fillStyle = "#c33";
    context.fillRect(left(FLAG), top(FLAG) - 30, 4, 30);
    context.fillStyle = "#335";
    context.fillRect(left(this.x) - 10, top(this.x) - 12, 20, 10);
  }
}

export default defineGame({
  id: "Plain-MountainCar-v0",
  tickSeconds: 0.05,
  maxSeconds: 10,
  observation: box({ shape: [2], low: [MIN_X, -MAX_SPEED], high: [MAX_X, MAX_SPEED] }),
  action: discrete(["left", "roll", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  idle: "roll",
  create: () => new MountainCar(),
});
