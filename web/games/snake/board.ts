/** The snake's board: cells, body and food, without any notion of rewards or observations. */

import type { GameRandom } from "attract";

/** Largest board the game declares; all buffers are made for it once. */
export const MAX_SIZE = 20;
const MAX_WIDTH = MAX_SIZE + 2;
const START_LENGTH = 3;

/** A square board with a border of blocked cells around it, so that looking one cell ahead never leaves the array. */
export class Board {
  /** Cells per side, without the border. */
  size = 10;
  /** Cells per side with the border; the distance between a cell and the one below it. */
  width = 12;
  /** 1 where the snake's body or the border is. */
  readonly blocked = new Uint8Array(MAX_WIDTH * MAX_WIDTH);
  /** Cells of the body, tail first, in a ring. */
  readonly #ring = new Int32Array(MAX_SIZE * MAX_SIZE);
  #tailIndex = 0;
  length = 0;
  head = 0;
  /** -1 once no cell is free for food. */
  food = -1;
  /** Offsets of a step up, down, left, right. */
  readonly offsets = new Int32Array(4);

  /** An empty board with a snake of three cells in its middle, heading in a random direction. Returns that direction. */
  reset(size: number, random: GameRandom): number {
    this.size = size;
    this.width = size + 2;
    this.offsets[0] = -this.width;
    this.offsets[1] = this.width;
    this.offsets[2] = -1;
    this.offsets[3] = 1;
    const { width, blocked } = this;
    for (let row = 0; row < width; row++) {
      for (let column = 0; column < width; column++) {
        const isBorder = row === 0 || column === 0 || row === size + 1 || column === size + 1;
        blocked[row * width + column] = isBorder ? 1 : 0;
      }
    }
    const direction = random.int(4);
    const middle = (1 + (size >> 1)) * width + 1 + (size >> 1);
    this.#tailIndex = 0;
    this.length = 0;
    for (let i = START_LENGTH - 1; i >= 0; i--) this.#grow(middle - i * this.offsets[direction]);
    this.placeFood(random);
    return direction;
  }

  /** Cell of the body, 0 = tail, length - 1 = head. */
  bodyCell(i: number): number {
    return this.#ring[(this.#tailIndex + i) % this.#ring.length];
  }

  /** Whether the snake may step there: the tail's cell is free, since the tail moves on. */
  isFree(cell: number): boolean {
    return this.blocked[cell] === 0 || (cell === this.bodyCell(0) && cell !== this.food);
  }

  /** Moves the head to the free cell `cell`; returns whether food was there, which makes the snake longer. */
  advance(cell: number): boolean {
    const isFood = cell === this.food;
    if (!isFood) {
      this.blocked[this.bodyCell(0)] = 0;
      this.#tailIndex = (this.#tailIndex + 1) % this.#ring.length;
      this.length--;
    }
    this.#grow(cell);
    return isFood;
  }

  /** Puts food on a random free cell, each equally likely. */
  placeFood(random: GameRandom): void {
    const numFree = this.size * this.size - this.length;
    this.food = -1;
    if (numFree === 0) return;
    let left = random.int(numFree);
    for (let cell = 0; cell < this.width * this.width; cell++) {
      if (this.blocked[cell] === 0 && left-- === 0) {
        this.food = cell;
        return;
      }
    }
  }

  #grow(cell: number): void {
    this.#ring[(this.#tailIndex + this.length) % this.#ring.length] = cell;
    this.length++;
    this.blocked[cell] = 1;
    this.head = cell;
  }
}
