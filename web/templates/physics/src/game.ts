/** Hover: a drone of two engines has to stay at a mark that moves. */

import { box, type Context2D, defineGame, type StartContext, type UpdateResult } from "attract";

const GRAVITY = 9.8;
/** The field reaches from -SIZE to SIZE, in metres. */
const SIZE = 5;
const THRUST = 2 * GRAVITY;
const SECONDS_PER_MARK = 3;

class Hover {
  #random: StartContext["random"] | null = null;
  #position = { x: 0, y: 0 };
  #velocity = { x: 0, y: 0 };
  #mark = { x: 0, y: 0 };
  #seconds = 0;

  start({ random }: StartContext): number[] {
    this.#random = random;
    this.#position = { x: 0, y: 0 };
    this.#velocity = { x: 0, y: 0 };
    this.#seconds = 0;
    this.#place();
    return this.#observe();
  }

  /** `action` has two numbers between -1 and 1: sideways, and up. */
  update(deltaTime: number, action: ArrayLike<number>): UpdateResult {
    const [velocity, position] = [this.#velocity, this.#position];
    velocity.x += THRUST * action[0] * deltaTime;
    velocity.y += (THRUST * action[1] - GRAVITY) * deltaTime;
    position.x += velocity.x * deltaTime;
    position.y += velocity.y * deltaTime;
    const before = Math.floor(this.#seconds / SECONDS_PER_MARK);
    this.#seconds += deltaTime;
    if (Math.floor(this.#seconds / SECONDS_PER_MARK) > before) this.#place();
    const away = Math.hypot(position.x - this.#mark.x, position.y - this.#mark.y);
    const isLost = Math.abs(position.x) > SIZE || Math.abs(position.y) > SIZE;
    return {
      observation: this.#observe(),
      reward: isLost ? -5 : deltaTime / (0.2 + away),
      terminated: isLost,
    };
  }

  draw(context: Context2D, width: number, height: number): void {
    const place = ({ x, y }: { x: number; y: number }): [number, number] => [
      ((x + SIZE) / (2 * SIZE)) * width,
      ((SIZE - y) / (2 * SIZE)) * height,
    ];
    context.fillStyle = "#0b132b";
    context.fillRect(0, 0, width, height);
    const dot = (at: { x: number; y: number }, radius: number, color: string): void => {
      context.fillStyle = color;
      context.beginPath();
      context.arc(...place(at), radius, 0, 2 * Math.PI);
      context.fill();
    };
    dot(this.#mark, width / 40, "#f25f5c");
    dot(this.#position, width / 60, "#5bc0be");
  }

  #place(): void {
    if (this.#random === null) throw new Error("start comes first");
    const [x, y] = [this.#random(), this.#random()];
    this.#mark = { x: SIZE * (x - 0.5), y: SIZE * (y - 0.5) };
  }

  #observe(): number[] {
    const { x, y } = this.#position;
    return [
      (this.#mark.x - x) / SIZE,
      (this.#mark.y - y) / SIZE,
      this.#velocity.x / SIZE,
      this.#velocity.y / SIZE,
      x / SIZE,
      y / SIZE,
    ];
  }
}

export default defineGame({
  id: "Hover-v1",
  tickSeconds: 1 / 60,
  secondsPerStep: 4 / 60,
  maxSeconds: 15,
  observation: box({ shape: [6] }),
  action: box({ shape: [2], low: -1, high: 1 }),
  keys: { ArrowLeft: [-1, 0.5], ArrowRight: [1, 0.5], ArrowUp: [0, 1], ArrowDown: [0, -1] },
  idle: [0, 0.5],
  create: () => new Hover(),
});
