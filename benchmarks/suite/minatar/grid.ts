/**
 * What the games of MinAtar share: a grid of 10 x 10 cells in planes, six actions, and actions that stick.
 *
 * Rules: Young and Tian 2019, "MinAtar: An Atari-Inspired Testbed" (arXiv:1903.03176), version 1.0.15, written anew.
 */

import { box, type Context2D, discrete, type GameRandom } from "attract";

export const SIZE = 10;
const CELLS = SIZE * SIZE;
/** The chance that the last action is taken again. */
const STICKINESS = 0.1;
const SET = 255;

export const [STAY, LEFT, UP, RIGHT, DOWN, FIRE] = [0, 1, 2, 3, 4, 5];

/** What the games declare alike. */
export const declared = {
  tickSeconds: 1 / 15,
  maxSeconds: 3_600,
  action: discrete(["stay", "left", "up", "right", "down", "fire"]),
  keys: { ArrowLeft: "left", ArrowUp: "up", ArrowRight: "right", ArrowDown: "down", Space: "fire" },
  idle: "stay",
} as const;

/** The action that is taken, given the action that was chosen. */
export class StickyActions {
  #last = STAY;
  readonly #random: GameRandom;

  constructor(random: GameRandom) {
    this.#random = random;
  }

  next(chosen: number): number {
    if (this.#random() >= STICKINESS) this.#last = chosen;
    return this.#last;
  }
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** Some planes of 10 x 10 cells, each set or not; row by row, the planes of a cell side by side. */
export class Planes {
  readonly cells: Uint8Array;

  constructor(readonly count: number) {
    this.cells = new Uint8Array(CELLS * count);
  }

  static space(count: number) {
    return box({ shape: [SIZE, SIZE, count], dtype: "uint8" });
  }

  clear() {
    this.cells.fill(0);
  }

  set(plane: number, x: number, y: number) {
    this.cells[(y * SIZE + x) * this.count + plane] = SET;
  }

  /** The cells of a list that are set, `cells[y * 10 + x]`. */
  setAll(plane: number, cells: Uint8Array) {
    for (let i = 0; i < CELLS; i++) if (cells[i]) this.cells[i * this.count + plane] = SET;
  }

  draw(context: Context2D, width: number, height: number) {
    const side = Math.min(width, height) / SIZE;
    context.clearRect(0, 0, width, height);
    for (let i = 0; i < CELLS; i++)
      for (let plane = 0; plane < this.count; plane++)
        if (this.cells[i * this.count + plane]) {
          context.fillStyle = `hsl(${(plane * 360) / this.count} 70% 50%)`;
          context.fillRect((i % SIZE) * side, Math.floor(i / SIZE) * side, side, side);
        }
  }
}
