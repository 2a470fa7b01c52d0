/** How the garden looks: lawn, hedge and bushes, berries, three foragers and the wolf. */

import type { Context2D } from "attract";
import { columnOf, type Garden, isBush, rowOf, SIZE } from "./garden.ts";

const HEDGE = "#1d3b2a";
const LAWN = ["#3f7d4e", "#438453"];
const BUSH = "#23512f";
const BERRY = "#d7263d";
const FORAGERS = ["#4cc9f0", "#ffd166", "#c77dff"];
const WOLF = "#4a4e58";
const EYE = "#ffef9f";

/** Draws on the whole canvas. */
export function drawForagers(context: Context2D, width: number, height: number, garden: Garden): void {
  const cell = Math.min(width, height) / (SIZE + 2);
  context.save();
  context.fillStyle = HEDGE;
  context.fillRect(0, 0, width, height);
  context.translate((width - cell * SIZE) / 2, (height - cell * SIZE) / 2);
  drawLawn(context, cell);
  for (const berry of garden.berries) drawDisc(context, berry, cell, 0.22, BERRY);
  garden.foragers.forEach((at, agent) => {
    if (at >= 0) drawDisc(context, at, cell, 0.38, FORAGERS[agent]);
  });
  drawWolf(context, garden.wolf, cell);
  context.restore();
}

function drawLawn(context: Context2D, cell: number): void {
  for (let row = 0; row < SIZE; row++) {
    for (let column = 0; column < SIZE; column++) {
      context.fillStyle = LAWN[(row + column) % 2];
      context.fillRect(column * cell, row * cell, cell + 0.5, cell + 0.5);
      const at = (row + 1) * (SIZE + 2) + column + 1;
      if (isBush(at)) drawDisc(context, at, cell, 0.46, BUSH);
    }
  }
}

/** A disc in the middle of a cell; `radius` in cells. */
function drawDisc(context: Context2D, at: number, cell: number, radius: number, color: string): void {
  context.fillStyle = color;
  context.beginPath();
  context.arc((columnOf(at) + 0.5) * cell, (rowOf(at) + 0.5) * cell, radius * cell, 0, 2 * Math.PI);
  context.fill();
}

function drawWolf(context: Context2D, at: number, cell: number): void {
  const left = columnOf(at) * cell;
  const top = rowOf(at) * cell;
  context.fillStyle = WOLF;
  context.beginPath();
  context.moveTo(left + 0.12 * cell, top + 0.08 * cell);
  context.lineTo(left + 0.35 * cell, top + 0.3 * cell);
  context.lineTo(left + 0.65 * cell, top + 0.3 * cell);
  context.lineTo(left + 0.88 * cell, top + 0.08 * cell);
  context.lineTo(left + 0.82 * cell, top + 0.6 * cell);
  context.lineTo(left + 0.5 * cell, top + 0.94 * cell);
  context.lineTo(left + 0.18 * cell, top + 0.6 * cell);
  context.closePath();
  context.fill();
  context.fillStyle = EYE;
  for (const side of [0.36, 0.64]) {
    context.beginPath();
    context.arc(left + side * cell, top + 0.5 * cell, 0.06 * cell, 0, 2 * Math.PI);
    context.fill();
  }
}
