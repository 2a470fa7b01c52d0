/** MinAtar's Seaquest: a point for each enemy that is shot, and more for six divers who are brought to the surface in time. */

import { type Context2D, defineGame, type GameRandom, type StartContext } from "attract";
import { clamp, DOWN, declared, FIRE, LEFT, Planes, RIGHT, SIZE, StickyActions, UP } from "./grid.ts";

const LAST = SIZE - 1;
/** The row above the gauges. */
const DEEPEST = LAST - 1;
const ROWS = 8;
const MAX_OXYGEN = 200;
const MAX_DIVERS = 6;
const ENEMY_INTERVAL = 20;
const DIVER_INTERVAL = 30;
const RELOAD_STEPS = 5;
const SHOT_INTERVAL = 10;
const MOVE_INTERVAL = 5;
const FASTEST_INTERVAL = 2;
const [FRONT, BACK, BULLET, TRAIL, TORPEDO, FISH, SUBMARINE, OXYGEN, DIVERS, DIVER] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];

interface Swimmer {
  x: number;
  y: number;
  dx: 1 | -1;
  moveIn: number;
  /** Steps to the next shot; null: it does not shoot. */
  shotIn: number | null;
}

type Bullet = Pick<Swimmer, "x" | "y" | "dx">;

export class Seaquest {
  readonly planes = new Planes(10);
  sticky!: StickyActions;
  random!: GameRandom;
  x = 5;
  y = 0;
  dx: 1 | -1 = -1;
  isAtSurface = true;
  oxygen = MAX_OXYGEN;
  /** Divers on board. It is -1 after six have been brought up, as in MinAtar. */
  numDivers = 0;
  bullets: Bullet[] = [];
  torpedoes: Bullet[] = [];
  fish: Swimmer[] = [];
  submarines: Swimmer[] = [];
  divers: Swimmer[] = [];
  enemyInterval = ENEMY_INTERVAL;
  enemyIn = ENEMY_INTERVAL;
  diverIn = DIVER_INTERVAL;
  moveInterval = MOVE_INTERVAL;
  loadedIn = 0;
  ramps = 0;

  start({ random }: StartContext<Uint8Array>) {
    Object.assign(this, new Seaquest(), { planes: this.planes, sticky: new StickyActions(random), random });
    return this.observe();
  }

  update(_deltaTime: number, chosen: number) {
    const action = this.sticky.next(chosen);
    this.spawn();
    this.move(action);
    let reward = 0;
    this.bullets = this.bullets.filter((bullet) => {
      if (!flies(bullet)) return false;
      const isHit = this.shoot("fish", bullet) || this.shoot("submarines", bullet);
      if (isHit) reward += 1;
      return !isHit;
    });
    this.divers = this.divers.filter((diver) => !this.picksUp(diver) && this.drifts(diver));
    // Each part in turn, as the rules have it: what moves first is met first.
    const submarines = this.swum(this.submarines);
    this.submarines = submarines.left;
    const isStruck = this.strike();
    const fish = this.swum(this.fish);
    this.fish = fish.left;
    reward += submarines.numShot + fish.numShot;
    let terminated = submarines.hasMet || isStruck || fish.hasMet;
    if (this.enemyIn > 0) this.enemyIn -= 1;
    if (this.diverIn > 0) this.diverIn -= 1;
    if (this.loadedIn > 0) this.loadedIn -= 1;
    terminated ||= this.oxygen <= 0;
    if (this.y > 0) {
      this.oxygen -= 1;
      this.isAtSurface = false;
    } else if (!this.isAtSurface) {
      if (this.numDivers === 0) terminated = true;
      else reward += this.surface();
    }
    return { observation: this.observe(), reward, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    this.planes.draw(context, width, height);
  }

  spawn() {
    if (this.enemyIn === 0) {
      this.enemyIn = this.enemyInterval;
      const isSubmarine = this.random() < 1 / 3;
      const enemy = this.entering(this.moveInterval, isSubmarine ? SHOT_INTERVAL : null);
      const isInTheWay = (other: Swimmer) => other.y === enemy.y && other.dx !== enemy.dx;
      if (![...this.submarines, ...this.fish].some(isInTheWay))
        (isSubmarine ? this.submarines : this.fish).push(enemy);
    }
    if (this.diverIn === 0) {
      this.diverIn = DIVER_INTERVAL;
      this.divers.push(this.entering(MOVE_INTERVAL, null));
    }
  }

  entering(moveIn: number, shotIn: number | null): Swimmer {
    const dx = this.random() < 1 / 2 ? 1 : -1;
    return { x: dx === 1 ? 0 : LAST, y: 1 + this.random.int(ROWS), dx, moveIn, shotIn };
  }

  move(action: number) {
    if (action === FIRE && this.loadedIn === 0) {
      this.bullets.push({ x: this.x, y: this.y, dx: this.dx });
      this.loadedIn = RELOAD_STEPS;
    }
    if (action === LEFT || action === RIGHT) this.dx = action === LEFT ? -1 : 1;
    this.x = clamp(this.x + Number(action === RIGHT) - Number(action === LEFT), 0, LAST);
    this.y = clamp(this.y + Number(action === DOWN) - Number(action === UP), 0, DEEPEST);
  }

  isAt({ x, y }: Bullet): boolean {
    return x === this.x && y === this.y;
  }

  /** Whether one of these is where the bullet is; it is gone then. */
  shoot(kind: "fish" | "submarines", bullet: Bullet): boolean {
    const hit = this[kind].find(({ x, y }) => x === bullet.x && y === bullet.y);
    if (hit !== undefined) this[kind] = this[kind].filter((other) => other !== hit);
    return hit !== undefined;
  }

  picksUp(diver: Swimmer): boolean {
    if (!this.isAt(diver) || this.numDivers >= MAX_DIVERS) return false;
    this.numDivers += 1;
    return true;
  }

  /** Whether the diver is still there. */
  drifts(diver: Swimmer): boolean {
    if (!isDue(diver, MOVE_INTERVAL)) return true;
    return flies(diver) && !this.picksUp(diver);
  }

  /** What is left of these enemies after they have moved, how many met a bullet, and whether one met the player. */
  swum(swimmers: Swimmer[]) {
    let [numShot, hasMet] = [0, false];
    const left = swimmers.filter((swimmer) => {
      hasMet ||= this.isAt(swimmer);
      let isLeft = true;
      if (isDue(swimmer, this.moveInterval)) {
        isLeft = flies(swimmer);
        const bullet = this.bullets.find(({ x, y }) => x === swimmer.x && y === swimmer.y);
        if (isLeft && this.isAt(swimmer)) hasMet = true;
        else if (isLeft && bullet !== undefined) {
          this.bullets = this.bullets.filter((other) => other !== bullet);
          numShot += 1;
          isLeft = false;
        }
      }
      this.launch(swimmer);
      return isLeft;
    });
    return { left, numShot, hasMet };
  }

  launch(swimmer: Swimmer) {
    if (swimmer.shotIn === null) return;
    if (swimmer.shotIn === 0) this.torpedoes.push({ x: swimmer.x, y: swimmer.y, dx: swimmer.dx });
    swimmer.shotIn = swimmer.shotIn === 0 ? SHOT_INTERVAL : swimmer.shotIn - 1;
  }

  /** Torpedoes go on. Returns whether one met the player. */
  strike(): boolean {
    let isStruck = false;
    this.torpedoes = this.torpedoes.filter((torpedo) => {
      isStruck ||= this.isAt(torpedo);
      const isLeft = flies(torpedo);
      isStruck ||= isLeft && this.isAt(torpedo);
      return isLeft;
    });
    return isStruck;
  }

  /** Air for a diver; six of them are paid by the air that was left. */
  surface(): number {
    this.isAtSurface = true;
    const isFull = this.numDivers === MAX_DIVERS;
    const reward = isFull ? Math.floor((this.oxygen * SIZE) / MAX_OXYGEN) : 0;
    this.numDivers = (isFull ? 0 : this.numDivers) - 1;
    this.oxygen = MAX_OXYGEN;
    if (this.enemyInterval === 1 && this.moveInterval === FASTEST_INTERVAL) return reward;
    if (this.ramps % 2 === 1) this.moveInterval = Math.max(FASTEST_INTERVAL, this.moveInterval - 1);
    this.enemyInterval = Math.max(1, this.enemyInterval - 1);
    this.ramps += 1;
    return reward;
  }

  observe() {
    const { planes } = this;
    planes.clear();
    planes.set(FRONT, this.x, this.y);
    const behind = this.x - this.dx;
    if (isInside(behind)) planes.set(BACK, behind, this.y);
    const oxygen = Math.floor((Math.max(0, this.oxygen) * SIZE) / MAX_OXYGEN);
    for (let x = 0; x < oxygen; x++) planes.set(OXYGEN, x, LAST);
    for (let i = 1; i <= this.numDivers; i++) planes.set(DIVERS, LAST - i, LAST);
    for (const { x, y } of this.bullets) planes.set(BULLET, x, y);
    for (const { x, y } of this.torpedoes) planes.set(TORPEDO, x, y);
    const kinds = [
      [FISH, this.fish],
      [SUBMARINE, this.submarines],
      [DIVER, this.divers],
    ] as const;
    for (const [plane, swimmers] of kinds)
      for (const { x, y, dx } of swimmers) {
        planes.set(plane, x, y);
        if (isInside(x - dx)) planes.set(TRAIL, x - dx, y);
      }
    return planes.cells;
  }
}

/** Counts down to a move; whether it is now. */
function isDue(swimmer: Swimmer, interval: number): boolean {
  const isNow = swimmer.moveIn === 0;
  swimmer.moveIn = isNow ? interval : swimmer.moveIn - 1;
  return isNow;
}

/** One cell on; whether it is still in the grid. */
function flies(one: Bullet): boolean {
  one.x += one.dx;
  return isInside(one.x);
}

function isInside(x: number): boolean {
  return x >= 0 && x <= LAST;
}

export default defineGame({
  ...declared,
  id: "MinAtarSeaquest-v1",
  observation: Planes.space(10),
  create: () => new Seaquest(),
});
