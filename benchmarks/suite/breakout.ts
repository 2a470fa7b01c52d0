/** Breakout that is seen as pixels: this picture and the last one, 20 x 20. A point for each brick; a missed ball ends it. */

import { box, type Context2D, defineGame, discrete, type StartContext } from "attract";

const SIZE = 20;
const PADDLE_WIDTH = 5;
const PADDLE_ROW = SIZE - 1;
const BRICK_ROWS = [2, 3, 4];
/** Columns of one brick. */
const BRICK_WIDTH = 2;
const BRICK_PIXEL = 90;
const PADDLE_PIXEL = 160;
const BALL_PIXEL = 255;

export class Breakout {
  paddle = 0;
  x = 0;
  y = 0;
  /** Columns and rows of a step. */
  dx = 1;
  dy = 1;
  bricks = new Set<number>();
  last = new Uint8Array(SIZE * SIZE);
  picture = new Uint8Array(SIZE * SIZE);

  start({ random }: StartContext<Uint8Array>) {
    this.paddle = random.int(SIZE - PADDLE_WIDTH + 1);
    this.x = random.int(SIZE);
    this.y = 7;
    this.dx = [-2, -1, 1, 2][random.int(4)];
    this.dy = 1;
    this.buildBricks();
    this.paint();
    this.last.set(this.picture);
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    this.paddle = Math.min(SIZE - PADDLE_WIDTH, Math.max(0, this.paddle + action - 1));
    let reward = 0;
    this.x += this.dx;
    if (this.x < 0 || this.x >= SIZE) {
      this.dx = -this.dx;
      this.x = this.x < 0 ? -this.x : 2 * (SIZE - 1) - this.x;
    }
    if (this.y + this.dy < 0) this.dy = 1;
    const brick = this.brickAt(this.x, this.y + this.dy);
    if (this.bricks.delete(brick)) {
      reward = 1;
      this.dy = -this.dy;
      if (this.bricks.size === 0) this.buildBricks();
    } else {
      this.y += this.dy;
    }
    let terminated = false;
    if (this.y === PADDLE_ROW - 1 && this.dy === 1) {
      const place = this.x - this.paddle;
      if (place >= 0 && place < PADDLE_WIDTH) {
        this.dy = -1;
        // Where the paddle hits decides how flat the ball leaves.
        this.dx = [-2, -1, this.dx > 0 ? 1 : -1, 1, 2][place];
      } else {
        terminated = true;
      }
    }
    this.paint();
    return { observation: this.observe(), reward, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const cell = Math.min(width, height) / SIZE;
    context.clearRect(0, 0, width, height);
    this.picture.forEach((pixel, i) => {
      context.fillStyle = `rgb(${pixel}, ${pixel}, ${pixel})`;
      context.fillRect((i % SIZE) * cell, Math.floor(i / SIZE) * cell, cell + 1, cell + 1);
    });
  }

  buildBricks() {
    for (const row of BRICK_ROWS) for (let x = 0; x < SIZE; x += BRICK_WIDTH) this.bricks.add(row * SIZE + x);
  }

  brickAt(x: number, y: number) {
    return y * SIZE + x - (x % BRICK_WIDTH);
  }

  paint() {
    this.last.set(this.picture);
    this.picture.fill(0);
    for (const brick of this.bricks) this.picture.fill(BRICK_PIXEL, brick, brick + BRICK_WIDTH);
    const left = PADDLE_ROW * SIZE + this.paddle;
    this.picture.fill(PADDLE_PIXEL, left, left + PADDLE_WIDTH);
    this.picture[this.y * SIZE + this.x] = BALL_PIXEL;
  }

  /** Two channels: the picture now and one step ago. */
  observe() {
    const pixels = new Uint8Array(2 * SIZE * SIZE);
    for (let i = 0; i < SIZE * SIZE; i++) {
      pixels[2 * i] = this.picture[i];
      pixels[2 * i + 1] = this.last[i];
    }
    return pixels;
  }
}

export default defineGame({
  id: "Breakout-v1",
  tickSeconds: 1 / 15,
  maxSeconds: 60,
  observation: box({ shape: [SIZE, SIZE, 2], dtype: "uint8" }),
  action: discrete(["left", "stay", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  idle: "stay",
  create: () => new Breakout(),
});
