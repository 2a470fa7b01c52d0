/** MinAtar's Space Invaders: a point for each alien; a bullet or an alien that reaches the cannon ends it. */

import { type Context2D, defineGame, type StartContext } from "attract";
import { clamp, declared, FIRE, LEFT, Planes, RIGHT, SIZE, StickyActions } from "./grid.ts";

const LAST = SIZE - 1;
const RELOAD_STEPS = 5;
const MOVE_INTERVAL = 12;
const FASTEST_INTERVAL = 6;
const SHOT_INTERVAL = 10;
const [CANNON, ALIEN, ALIEN_LEFT, ALIEN_RIGHT, BULLET, BOMB] = [0, 1, 2, 3, 4, 5];

export class SpaceInvaders {
  readonly planes = new Planes(6);
  /** By cell, row by row: 1 where there is one. */
  aliens: Uint8Array = new Uint8Array(SIZE * SIZE);
  bullets: Uint8Array = new Uint8Array(SIZE * SIZE);
  bombs: Uint8Array = new Uint8Array(SIZE * SIZE);
  sticky!: StickyActions;
  cannon = 5;
  dx = -1;
  moveInterval = MOVE_INTERVAL;
  moveIn = MOVE_INTERVAL;
  shotIn = SHOT_INTERVAL;
  loadedIn = 0;

  start({ random }: StartContext<Uint8Array>) {
    this.sticky = new StickyActions(random);
    this.cannon = 5;
    this.bullets.fill(0);
    this.bombs.fill(0);
    this.enter();
    this.dx = -1;
    this.moveInterval = this.moveIn = MOVE_INTERVAL;
    this.shotIn = SHOT_INTERVAL;
    this.loadedIn = 0;
    return this.observe();
  }

  update(_deltaTime: number, chosen: number) {
    const action = this.sticky.next(chosen);
    if (action === FIRE && this.loadedIn === 0) {
      this.bullets[LAST * SIZE + this.cannon] = 1;
      this.loadedIn = RELOAD_STEPS;
    }
    this.cannon = clamp(this.cannon + Number(action === RIGHT) - Number(action === LEFT), 0, LAST);
    this.bullets = shifted(this.bullets, 0, -1);
    this.bombs = shifted(this.bombs, 0, 1);
    const here = LAST * SIZE + this.cannon;
    let terminated = this.bombs[here] === 1 || this.aliens[here] === 1;
    if (this.moveIn === 0) {
      this.moveIn = Math.min(count(this.aliens), this.moveInterval);
      terminated = !this.move() || terminated || this.aliens[here] === 1;
    }
    if (this.shotIn === 0) {
      this.shotIn = SHOT_INTERVAL;
      this.dropBomb();
    }
    let reward = 0;
    for (let i = 0; i < this.aliens.length; i++)
      if (this.aliens[i] && this.bullets[i]) {
        this.aliens[i] = this.bullets[i] = 0;
        reward += 1;
      }
    if (this.loadedIn > 0) this.loadedIn -= 1;
    this.moveIn -= 1;
    this.shotIn -= 1;
    if (count(this.aliens) === 0) {
      this.moveInterval = Math.max(FASTEST_INTERVAL, this.moveInterval - 1);
      this.enter();
    }
    return { observation: this.observe(), reward, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    this.planes.draw(context, width, height);
  }

  /** Four rows of six aliens. */
  enter() {
    this.aliens.fill(0);
    for (let y = 0; y < 4; y++) this.aliens.fill(1, y * SIZE + 2, y * SIZE + 8);
  }

  /** Sideways, or down at the edge. Returns whether there was room for it. */
  move(): boolean {
    const edge = this.dx < 0 ? 0 : LAST;
    if (!this.aliens.some((alien, i) => alien && i % SIZE === edge)) {
      this.aliens = shifted(this.aliens, this.dx, 0);
      return true;
    }
    this.dx = -this.dx;
    const hasRoom = !this.aliens.subarray(LAST * SIZE).includes(1);
    this.aliens = shifted(this.aliens, 0, 1);
    return hasRoom;
  }

  /** From the lowest alien in the column nearest to the cannon, the left one of two. */
  dropBomb() {
    for (let distance = 0; distance < SIZE; distance++)
      for (const x of [this.cannon - distance, this.cannon + distance])
        for (let y = LAST; x >= 0 && x <= LAST && y >= 0; y--)
          if (this.aliens[y * SIZE + x]) {
            this.bombs[y * SIZE + x] = 1;
            return;
          }
  }

  observe() {
    this.planes.clear();
    this.planes.set(CANNON, this.cannon, LAST);
    this.planes.setAll(ALIEN, this.aliens);
    this.planes.setAll(this.dx < 0 ? ALIEN_LEFT : ALIEN_RIGHT, this.aliens);
    this.planes.setAll(BULLET, this.bullets);
    this.planes.setAll(BOMB, this.bombs);
    return this.planes.cells;
  }
}

/** The cells moved by `dx` and `dy`; what leaves the grid is gone. */
function shifted(cells: Uint8Array, dx: number, dy: number): Uint8Array {
  const moved = new Uint8Array(cells.length);
  for (let y = 0; y < SIZE; y++)
    for (let x = 0; x < SIZE; x++) {
      const [toX, toY] = [x + dx, y + dy];
      if (toX >= 0 && toX <= LAST && toY >= 0 && toY <= LAST) moved[toY * SIZE + toX] = cells[y * SIZE + x];
    }
  return moved;
}

function count(cells: Uint8Array): number {
  return cells.reduce((sum, cell) => sum + cell, 0);
}

export default defineGame({
  ...declared,
  id: "MinAtarSpaceInvaders-v1",
  observation: Planes.space(6),
  create: () => new SpaceInvaders(),
});
