/** MinAtar's Asterix: gold is a point, an enemy the end; both cross eight rows, ever faster. */

import { type Context2D, defineGame, type GameRandom, type StartContext } from "attract";
import { clamp, DOWN, declared, LEFT, Planes, RIGHT, SIZE, StickyActions, UP } from "./grid.ts";

const LAST = SIZE - 1;
const ROWS = 8;
const SPAWN_INTERVAL = 10;
const MOVE_INTERVAL = 5;
/** Steps until it becomes harder. */
const RAMP_INTERVAL = 100;
const [PLAYER, ENEMY, TRAIL, GOLD] = [0, 1, 2, 3];

interface Walker {
  x: number;
  dx: 1 | -1;
  isGold: boolean;
}

export class Asterix {
  readonly planes = new Planes(4);
  sticky!: StickyActions;
  random!: GameRandom;
  x = 5;
  y = 5;
  /** Who walks in the rows 1 to 8. */
  rows: (Walker | null)[] = [];
  spawnInterval = SPAWN_INTERVAL;
  spawnIn = SPAWN_INTERVAL;
  moveInterval = MOVE_INTERVAL;
  moveIn = MOVE_INTERVAL;
  rampIn = RAMP_INTERVAL;
  ramps = 0;

  start({ random }: StartContext<Uint8Array>) {
    this.sticky = new StickyActions(random);
    this.random = random;
    this.x = this.y = 5;
    this.rows = Array(ROWS).fill(null);
    this.spawnInterval = this.spawnIn = SPAWN_INTERVAL;
    this.moveInterval = this.moveIn = MOVE_INTERVAL;
    this.rampIn = RAMP_INTERVAL;
    this.ramps = 0;
    return this.observe();
  }

  update(_deltaTime: number, chosen: number) {
    const action = this.sticky.next(chosen);
    if (this.spawnIn === 0) {
      this.spawn();
      this.spawnIn = this.spawnInterval;
    }
    this.x = clamp(this.x + Number(action === RIGHT) - Number(action === LEFT), 0, LAST);
    this.y = clamp(this.y + Number(action === DOWN) - Number(action === UP), 1, ROWS);
    let { reward, terminated } = this.meet();
    if (this.moveIn === 0) {
      this.moveIn = this.moveInterval;
      this.rows = this.rows.map((walker) => walker && advanced(walker));
      const met = this.meet();
      reward += met.reward;
      terminated ||= met.terminated;
    }
    this.spawnIn -= 1;
    this.moveIn -= 1;
    this.ramp();
    return { observation: this.observe(), reward, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    this.planes.draw(context, width, height);
  }

  /** Gold or an enemy enters a free row, if there is one. */
  spawn() {
    const dx = this.random() < 1 / 2 ? 1 : -1;
    const isGold = this.random() < 1 / 3;
    const free = this.rows.flatMap((walker, row) => (walker ? [] : [row]));
    if (free.length > 0)
      this.rows[free[this.random.int(free.length)]] = { x: dx === 1 ? 0 : LAST, dx, isGold };
  }

  /** What happens where the player stands. */
  meet() {
    const walker = this.rows[this.y - 1];
    if (walker?.x !== this.x) return { reward: 0, terminated: false };
    if (!walker.isGold) return { reward: 0, terminated: true };
    this.rows[this.y - 1] = null;
    return { reward: 1, terminated: false };
  }

  ramp() {
    if (this.spawnInterval === 1 && this.moveInterval === 1) return;
    if (this.rampIn >= 0) {
      this.rampIn -= 1;
      return;
    }
    if (this.ramps % 2 === 1) this.moveInterval = Math.max(1, this.moveInterval - 1);
    this.spawnInterval = Math.max(1, this.spawnInterval - 1);
    this.ramps += 1;
    this.rampIn = RAMP_INTERVAL;
  }

  observe() {
    this.planes.clear();
    this.planes.set(PLAYER, this.x, this.y);
    this.rows.forEach((walker, row) => {
      if (walker === null) return;
      this.planes.set(walker.isGold ? GOLD : ENEMY, walker.x, row + 1);
      const behind = walker.x - walker.dx;
      if (behind >= 0 && behind <= LAST) this.planes.set(TRAIL, behind, row + 1);
    });
    return this.planes.cells;
  }
}

/** One cell on, or gone. */
function advanced(walker: Walker): Walker | null {
  const x = walker.x + walker.dx;
  return x < 0 || x > LAST ? null : { ...walker, x };
}

export default defineGame({
  ...declared,
  id: "MinAtarAsterix-v1",
  observation: Planes.space(4),
  create: () => new Asterix(),
});
