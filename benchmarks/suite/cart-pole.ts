/** CartPole-v1 by Gymnasium's rules, as one plain file. */

import { box, type Context2D, defineGame, discrete, type StartContext } from "attract";

const GRAVITY = 9.8;
const CART_MASS = 1;
const POLE_MASS = 0.1;
const TOTAL_MASS = CART_MASS + POLE_MASS;
const HALF_LENGTH = 0.5;
const FORCE = 10;
const MAX_X = 2.4;
const MAX_ANGLE = (12 * 2 * Math.PI) / 360;

export class CartPole {
  x = 0;
  velocity = 0;
  angle = 0;
  spin = 0;

  start({ random }: StartContext) {
    this.x = 0.1 * random() - 0.05;
    this.velocity = 0.1 * random() - 0.05;
    this.angle = 0.1 * random() - 0.05;
    this.spin = 0.1 * random() - 0.05;
    return this.observe();
  }

  update(deltaTime: number, action: number) {
    const force = action === 1 ? FORCE : -FORCE;
    const cos = Math.cos(this.angle);
    const sin = Math.sin(this.angle);
    const pull = (force + POLE_MASS * HALF_LENGTH * this.spin ** 2 * sin) / TOTAL_MASS;
    const spinUp =
      (GRAVITY * sin - cos * pull) / (HALF_LENGTH * (4 / 3 - (POLE_MASS * cos ** 2) / TOTAL_MASS));
    const acceleration = pull - (POLE_MASS * HALF_LENGTH * spinUp * cos) / TOTAL_MASS;
    this.x += deltaTime * this.velocity;
    this.velocity += deltaTime * acceleration;
    this.angle += deltaTime * this.spin;
    this.spin += deltaTime * spinUp;
    const terminated = Math.abs(this.x) > MAX_X || Math.abs(this.angle) > MAX_ANGLE;
    return { observation: this.observe(), reward: 1, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const scale = width / (2 * MAX_X);
    const x = width / 2 + this.x * scale;
    const y = height * 0.7;
    context.clearRect(0, 0, width, height);
    context.fillStyle = "#335";
    context.fillRect(x - 20, y - 10, 40, 20);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + Math.sin(this.angle) * scale, y - Math.cos(this.angle) * scale);
    context.stroke();
  }

  observe() {
    return [this.x, this.velocity, this.angle, this.spin];
  }
}

export default defineGame({
  id: "Plain-CartPole-v1",
  tickSeconds: 0.02,
  maxSeconds: 10,
  observation: box({ shape: [4] }),
  action: discrete(["left", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  create: () => new CartPole(),
});
