/** MinAtar's Freeway: a point for each crossing of eight lanes of cars, in 2,500 steps. */

import { type Context2D, defineGame, type GameRandom, type StartContext } from "attract";
import { clamp, DOWN, declared, Planes, SIZE, StickyActions, UP } from "./grid.ts";

const LAST = SIZE - 1;
const LANES = 8;
/** The column in which the chicken crosses. */
const COLUMN = 4;
const STEPS_BETWEEN_MOVES = 3;
const MAX_STEPS = 2_500;
const SLOWEST = 5;
/** Behind these, a plane for each speed: from a cell at each step to one at each fifth. */
const [CHICKEN, CAR] = [0, 1];

interface Car {
  x: number;
  dx: 1 | -1;
  /** Steps between two moves. */
  pause: number;
  moveIn: number;
}

export class Freeway {
  readonly planes = new Planes(CAR + 1 + SLOWEST);
  sticky!: StickyActions;
  random!: GameRandom;
  y = LAST;
  /** By lane, rows 1 to 8. */
  cars: Car[] = [];
  moveIn = STEPS_BETWEEN_MOVES;
  stepsLeft = MAX_STEPS;

  start({ random }: StartContext<Uint8Array>) {
    this.sticky = new StickyActions(random);
    this.random = random;
    this.y = LAST;
    this.cars = Array.from({ length: LANES }, () => ({ x: 0, ...this.drawn() }));
    this.moveIn = STEPS_BETWEEN_MOVES;
    this.stepsLeft = MAX_STEPS;
    return this.observe();
  }

  update(_deltaTime: number, chosen: number) {
    const action = this.sticky.next(chosen);
    if (this.moveIn === 0 && (action === UP || action === DOWN)) {
      this.moveIn = STEPS_BETWEEN_MOVES;
      this.y = clamp(this.y + (action === DOWN ? 1 : -1), 0, LAST);
    }
    const reward = this.y === 0 ? 1 : 0;
    if (reward === 1) {
      this.y = LAST;
      this.cars = this.cars.map(({ x }) => ({ x, ...this.drawn() }));
    }
    for (const [lane, car] of this.cars.entries()) {
      const hits = () => car.x === COLUMN && lane + 1 === this.y;
      if (hits()) this.y = LAST;
      if (car.moveIn > 0) {
        car.moveIn -= 1;
        continue;
      }
      car.moveIn = car.pause;
      car.x = (car.x + car.dx + SIZE) % SIZE;
      if (hits()) this.y = LAST;
    }
    if (this.moveIn > 0) this.moveIn -= 1;
    this.stepsLeft -= 1;
    return { observation: this.observe(), reward, terminated: this.stepsLeft < 0 };
  }

  draw(context: Context2D, width: number, height: number) {
    this.planes.draw(context, width, height);
  }

  /** How a car goes on. */
  drawn(): Omit<Car, "x"> {
    const pause = 1 + this.random.int(SLOWEST);
    return { dx: this.random() < 1 / 2 ? -1 : 1, pause, moveIn: pause };
  }

  observe() {
    this.planes.clear();
    this.planes.set(CHICKEN, COLUMN, this.y);
    for (const [lane, { x, dx, pause }] of this.cars.entries()) {
      this.planes.set(CAR, x, lane + 1);
      this.planes.set(CAR + pause, (x - dx + SIZE) % SIZE, lane + 1);
    }
    return this.planes.cells;
  }
}

export default defineGame({
  ...declared,
  id: "MinAtarFreeway-v1",
  observation: Planes.space(CAR + 1 + SLOWEST),
  create: () => new Freeway(),
});
