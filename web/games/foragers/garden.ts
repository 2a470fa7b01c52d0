/** The foragers' garden: cells, bushes, berries, foragers and the wolf, without any notion of rewards or observations. */

import type { GameRandom } from "attract";

/** Cells a side, without the hedge around them. */
export const SIZE = 9;
export const NUM_FORAGERS = 3;
export const NUM_BERRIES = 4;
const WIDTH = SIZE + 2;
const NUM_CELLS = WIDTH * WIDTH;
/** Bushes, which block movement, as (row, column); single ones, so that every other cell can be reached. */
const BUSHES = [
  [2, 2],
  [2, 6],
  [4, 4],
  [6, 2],
  [6, 6],
];
/** From cell to cell for stay, up, down, left, right. */
export const OFFSETS = [0, -WIDTH, WIDTH, -1, 1];
/** Least distance to the wolf, in steps, of a cell where a forager enters. */
const SAFE_DISTANCE = 4;

export function rowOf(cell: number): number {
  return Math.trunc(cell / WIDTH) - 1;
}

export function columnOf(cell: number): number {
  return (cell % WIDTH) - 1;
}

export function isBush(cell: number): boolean {
  return BLOCKED[cell] === 1;
}

/** Steps between two cells if nothing stood between them. */
export function distanceBetween(a: number, b: number): number {
  return Math.abs(rowOf(a) - rowOf(b)) + Math.abs(columnOf(a) - columnOf(b));
}

/** 1 where the hedge and the bushes are. */
const BLOCKED = new Uint8Array(NUM_CELLS);
for (let cell = 0; cell < NUM_CELLS; cell++) {
  const [row, column] = [rowOf(cell), columnOf(cell)];
  const isHedge = row < 0 || column < 0 || row === SIZE || column === SIZE;
  BLOCKED[cell] = isHedge || BUSHES.some(([r, c]) => r === row && c === column) ? 1 : 0;
}

/** Who and what is where; allocates nothing after creation. */
export class Garden {
  /** Cell of each forager, -1 while it is away. */
  readonly foragers = new Int32Array(NUM_FORAGERS);
  readonly berries = new Int32Array(NUM_BERRIES);
  wolf = 0;

  /** Everything at random places, the foragers away from the wolf. */
  reset(random: GameRandom): void {
    this.foragers.fill(-1);
    this.berries.fill(-1);
    // Out of the garden while its place is drawn: where it was before must not matter.
    this.wolf = 0;
    this.wolf = this.#emptyCell(0, random);
    for (let agent = 0; agent < NUM_FORAGERS; agent++) this.enter(agent, random);
    for (let i = 0; i < NUM_BERRIES; i++) this.berries[i] = this.#emptyCell(0, random);
  }

  /** Puts a forager that is away on an empty cell away from the wolf. */
  enter(agent: number, random: GameRandom): void {
    this.foragers[agent] = this.#emptyCell(SAFE_DISTANCE, random);
  }

  /** Whether a forager may step there: neither hedge, bush nor another forager. The wolf's cell is free to enter. */
  isFree(cell: number): boolean {
    return BLOCKED[cell] === 0 && !this.foragers.includes(cell);
  }

  /** Takes the berry at `cell` if there is one; another grows elsewhere at once. */
  pick(cell: number, random: GameRandom): boolean {
    const i = this.berries.indexOf(cell);
    if (i < 0) return false;
    this.berries[i] = this.#emptyCell(0, random);
    return true;
  }

  /** One step of the wolf: nearer to the nearest forager if it `isHunting`, else anywhere. Without a way it stays. */
  moveWolf(isHunting: boolean, random: GameRandom): void {
    let prey = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const cell of this.foragers) {
      const distance = cell < 0 ? Number.POSITIVE_INFINITY : distanceBetween(this.wolf, cell);
      if (distance < least) {
        least = distance;
        prey = cell;
      }
    }
    const first = random.int(4);
    for (let i = 0; i < 4; i++) {
      const cell = this.wolf + OFFSETS[1 + ((first + i) % 4)];
      if (BLOCKED[cell] === 1) continue;
      if (isHunting && prey >= 0 && distanceBetween(cell, prey) >= least) continue;
      this.wolf = cell;
      return;
    }
  }

  /** Writes the cells of the `nearest.length` nearest berries, nearest first. */
  nearestBerries(cell: number, nearest: Int32Array): void {
    nearest.fill(-1);
    for (const berry of this.berries) {
      let candidate = berry;
      for (let i = 0; i < nearest.length; i++) {
        if (nearest[i] >= 0 && distanceBetween(cell, nearest[i]) <= distanceBetween(cell, candidate))
          continue;
        const displaced = nearest[i];
        nearest[i] = candidate;
        candidate = displaced;
        if (candidate < 0) break;
      }
    }
  }

  /** A cell with nothing on it, at least `distance` steps from the wolf, each equally likely. */
  #emptyCell(distance: number, random: GameRandom): number {
    let count = 0;
    for (let cell = 0; cell < NUM_CELLS; cell++) if (this.#isEmpty(cell, distance)) count++;
    let left = random.int(count);
    for (let cell = 0; cell < NUM_CELLS; cell++) {
      if (this.#isEmpty(cell, distance) && left-- === 0) return cell;
    }
    return -1;
  }

  #isEmpty(cell: number, distance: number): boolean {
    if (BLOCKED[cell] === 1 || cell === this.wolf || this.berries.includes(cell)) return false;
    return !this.foragers.includes(cell) && distanceBetween(cell, this.wolf) >= distance;
  }
}
