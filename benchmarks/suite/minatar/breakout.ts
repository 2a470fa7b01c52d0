/** MinAtar's Breakout: a point for each of thirty bricks, which come back once all are gone; a ball that is missed ends it. */

import { type Context2D, defineGame, type StartContext } from "attract";
import { clamp, declared, LEFT, Planes, RIGHT, SIZE, StickyActions } from "./grid.ts";

const BOTTOM = SIZE - 1;
const [PADDLE, BALL, TRAIL, BRICK] = [0, 1, 2, 3];

export class Breakout {
  readonly planes = new Planes(4);
  readonly bricks = new Uint8Array(SIZE * SIZE);
  sticky!: StickyActions;
  paddle = 4;
  x = 0;
  y = 3;
  lastX = 0;
  lastY = 3;
  dx = 1;
  dy = 1;
  /** Whether a brick was struck in the last step: the ball passes those that follow at once. */
  struck = false;

  start({ random }: StartContext<Uint8Array>) {
    this.sticky = new StickyActions(random);
    const isLeft = random.int(2) === 0;
    this.x = this.lastX = isLeft ? 0 : BOTTOM;
    this.y = this.lastY = 3;
    this.dx = isLeft ? 1 : -1;
    this.dy = 1;
    this.paddle = 4;
    this.struck = false;
    this.layBricks();
    return this.observe();
  }

  update(_deltaTime: number, chosen: number) {
    const action = this.sticky.next(chosen);
    this.paddle = clamp(this.paddle + Number(action === RIGHT) - Number(action === LEFT), 0, BOTTOM);
    this.lastX = this.x;
    this.lastY = this.y;
    const beyond = this.x + this.dx;
    const x = clamp(beyond, 0, BOTTOM);
    if (x !== beyond) this.dx = -this.dx;
    const y = this.y + this.dy;
    let reward = 0;
    let terminated = false;
    let isOnBrick = false;
    this.x = x;
    this.y = y;
    if (y < 0) {
      this.y = 0;
      this.dy = -this.dy;
    } else if (this.bricks[y * SIZE + x]) {
      isOnBrick = true;
      if (!this.struck) {
        reward = 1;
        this.bricks[y * SIZE + x] = 0;
        this.turnBack();
      }
    } else if (y === BOTTOM) {
      if (!this.bricks.includes(1)) this.layBricks();
      if (this.lastX === this.paddle) {
        this.turnBack();
      } else if (x === this.paddle) {
        this.dx = -this.dx;
        this.turnBack();
      } else {
        terminated = true;
      }
    }
    this.struck = isOnBrick;
    return { observation: this.observe(), reward, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    this.planes.draw(context, width, height);
  }

  layBricks() {
    this.bricks.fill(0);
    this.bricks.fill(1, SIZE, 4 * SIZE);
  }

  /** Up instead of down or the other way, from the row it was in. */
  turnBack() {
    this.dy = -this.dy;
    this.y = this.lastY;
  }

  observe() {
    this.planes.clear();
    this.planes.set(PADDLE, this.paddle, BOTTOM);
    this.planes.set(BALL, this.x, this.y);
    this.planes.set(TRAIL, this.lastX, this.lastY);
    this.planes.setAll(BRICK, this.bricks);
    return this.planes.cells;
  }
}

export default defineGame({
  ...declared,
  id: "MinAtarBreakout-v1",
  observation: Planes.space(4),
  create: () => new Breakout(),
});
