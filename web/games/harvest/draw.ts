/** How a harvest looks: exactly what the agent sees, large. */

import type { Context2D } from "attract";
import { BYTES, SIZE } from "./picture.ts";

const FRAME = "#0d1022";

/** Draws `pixels`, [SIZE, SIZE, BYTES], as squares in the middle of the canvas. */
export function drawHarvest(context: Context2D, width: number, height: number, pixels: Uint8Array): void {
  const cell = Math.floor(Math.min(width, height) / SIZE);
  const left = Math.floor((width - cell * SIZE) / 2);
  const top = Math.floor((height - cell * SIZE) / 2);
  context.fillStyle = FRAME;
  context.fillRect(0, 0, width, height);
  for (let row = 0; row < SIZE; row++) {
    for (let column = 0; column < SIZE; column++) {
      const i = BYTES * (row * SIZE + column);
      context.fillStyle = `rgb(${pixels[i]}, ${pixels[i + 1]}, ${pixels[i + 2]})`;
      context.fillRect(left + column * cell, top + row * cell, cell, cell);
    }
  }
}
