/** Thumbnails painted cell by cell. */

import { HEIGHT, type Thumbnail, WIDTH } from "../../../../web/playtest/src/sight/thumbnail.ts";

export type Painter = (x: number, y: number) => readonly [r: number, g: number, b: number];

export function painted(painter: Painter): Thumbnail {
  const picture = new Uint8ClampedArray(4 * WIDTH * HEIGHT).fill(255);
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) picture.set(painter(x, y), 4 * (y * WIDTH + x));
  return picture;
}
