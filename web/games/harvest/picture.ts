/** The picture of a harvest: SIZE x SIZE pixels of three bytes, row by row. */

/** Pixels a side. */
export const SIZE = 24;
/** Red, green, blue. */
export const BYTES = 3;
/** Pixels a side of an apple or a stone. */
export const THING_SIZE = 2;
export const BASKET_WIDTH = 4;
/** The basket's upper row; it reaches to the bottom. */
export const BASKET_ROW = SIZE - 2;
/** Index of the basket's color. */
export const BASKET = 2;

const SKY = [18, 22, 46];
/** Apple, stone, basket. */
const COLORS = [
  [235, 64, 52],
  [150, 152, 160],
  [245, 200, 80],
];

/** Pixels of one game, repainted in every step; allocates nothing after creation. */
export class Picture {
  /** [SIZE, SIZE, BYTES], flat. */
  readonly pixels = new Uint8Array(SIZE * SIZE * BYTES);
  readonly #empty = new Uint8Array(SIZE * SIZE * BYTES);

  constructor() {
    for (let i = 0; i < this.#empty.length; i++) this.#empty[i] = SKY[i % BYTES];
    this.clear();
  }

  clear(): void {
    this.pixels.set(this.#empty);
  }

  /** Paints a rectangle of whole pixels inside the picture in color `color` of apple, stone, basket. */
  fill(column: number, row: number, width: number, height: number, color: number): void {
    const { pixels } = this;
    const [red, green, blue] = COLORS[color];
    for (let y = row; y < row + height; y++) {
      for (let i = BYTES * (y * SIZE + column); i < BYTES * (y * SIZE + column + width); i += BYTES) {
        pixels[i] = red;
        pixels[i + 1] = green;
        pixels[i + 2] = blue;
      }
    }
  }
}
