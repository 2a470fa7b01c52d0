/** How Keydoor looks: two rooms and the wall between them, the key, the door, the treasure, the player. */

import type { Context2D } from "attract";

/** Cells of the floor, without the walls around it. */
export const WIDTH = 11;
export const HEIGHT = 7;
/** The column of the wall between the two rooms. */
export const WALL = 5;

/** A cell, in columns and rows of the floor. */
export interface Cell {
  x: number;
  y: number;
}

/** What there is to be seen. */
export interface Rooms {
  readonly player: Cell;
  readonly key: Cell;
  readonly door: Cell;
  readonly treasure: Cell;
  readonly hasKey: boolean;
  readonly isOpen: boolean;
}

const FLOOR = "#1d2433";
const TILE = "#232c3f";
const STONE = "#5b6478";
const LOCKED = "#a5623a";
const OPEN = "#3d2c22";
const GOLD = "#f2c14e";
const CHEST = "#d1495b";
const PLAYER = "#6fd3c1";

/** Draws the whole floor on the whole canvas, in square cells. */
export function drawKeydoor(context: Context2D, width: number, height: number, game: Rooms): void {
  const cell = Math.min(width / WIDTH, height / HEIGHT);
  const left = (width - cell * WIDTH) / 2;
  const top = (height - cell * HEIGHT) / 2;
  context.fillStyle = FLOOR;
  context.fillRect(0, 0, width, height);
  const fill = (color: string, { x, y }: Cell, inset: number): void => {
    context.fillStyle = color;
    const size = cell * (1 - 2 * inset);
    context.fillRect(left + (x + inset) * cell, top + (y + inset) * cell, size, size);
  };
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) fill(x === WALL ? STONE : TILE, { x, y }, x === WALL ? 0 : 0.03);
  }
  fill(game.isOpen ? OPEN : LOCKED, game.door, 0);
  fill(CHEST, game.treasure, 0.2);
  fill(GOLD, game.treasure, 0.38);
  if (!game.hasKey) drawKey(context, left + game.key.x * cell, top + game.key.y * cell, cell);
  fill(PLAYER, game.player, 0.15);
  if (game.hasKey && !game.isOpen) {
    drawKey(context, left + game.player.x * cell, top + game.player.y * cell, cell);
  }
}

/** A key in the cell whose corner is at `x`, `y`: a ring, a shaft and one tooth. */
function drawKey(context: Context2D, x: number, y: number, cell: number): void {
  context.strokeStyle = GOLD;
  context.lineWidth = cell * 0.1;
  context.beginPath();
  context.arc(x + cell * 0.35, y + cell * 0.5, cell * 0.12, 0, 2 * Math.PI);
  context.moveTo(x + cell * 0.47, y + cell * 0.5);
  context.lineTo(x + cell * 0.78, y + cell * 0.5);
  context.lineTo(x + cell * 0.78, y + cell * 0.64);
  context.stroke();
}
