/** How snake looks: a chequered lawn, a rounded body and an apple. */

import type { Context2D } from "attract";
import type { Board } from "./board.ts";

const HEDGE = "#18231d";
const LAWN = ["#26392f", "#2b4035"];
const BODY = "#7ed957";
const HEAD = "#b6f29c";
const EYE = "#16211b";
const APPLE = "#ff5d5d";
const LEAF = "#b6f29c";
const TEXT = "#e8f5ec";
/** Offsets of the eyes from the head's middle for up, down, left, right, in cells. */
const EYES = [
  [-0.18, -0.2, 0.18, -0.2],
  [-0.18, 0.2, 0.18, 0.2],
  [-0.2, -0.18, -0.2, 0.18],
  [0.2, -0.18, 0.2, 0.18],
];

/** Draws on the whole canvas; `direction` is 0 to 3 for up, down, left, right. */
export function drawSnake(
  context: Context2D,
  width: number,
  height: number,
  board: Board,
  direction: number,
  food: number,
): void {
  const header = Math.max(18, height * 0.07);
  const cell = Math.min(width / board.size, (height - header) / board.size);
  context.save();
  context.fillStyle = HEDGE;
  context.fillRect(0, 0, width, height);
  context.fillStyle = TEXT;
  context.font = `600 ${Math.round(header * 0.6)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(`${food}`, width / 2, header / 2);
  context.translate((width - cell * board.size) / 2, header + (height - header - cell * board.size) / 2);
  drawLawn(context, board.size, cell);
  if (board.food >= 0) drawApple(context, columnOf(board, board.food), rowOf(board, board.food), cell);
  drawBody(context, board, cell);
  drawEyes(context, columnOf(board, board.head), rowOf(board, board.head), cell, EYES[direction]);
  context.restore();
}

function drawLawn(context: Context2D, size: number, cell: number): void {
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      context.fillStyle = LAWN[(row + column + 1) % 2];
      context.fillRect(column * cell, row * cell, cell + 0.5, cell + 0.5);
    }
  }
}

function drawApple(context: Context2D, column: number, row: number, cell: number): void {
  context.fillStyle = APPLE;
  context.beginPath();
  context.arc((column + 0.5) * cell, (row + 0.55) * cell, 0.32 * cell, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = LEAF;
  context.beginPath();
  context.arc((column + 0.62) * cell, (row + 0.2) * cell, 0.1 * cell, 0, 2 * Math.PI);
  context.fill();
}

function drawBody(context: Context2D, board: Board, cell: number): void {
  context.strokeStyle = BODY;
  context.lineWidth = 0.72 * cell;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.beginPath();
  for (let i = 0; i < board.length; i++) {
    const body = board.bodyCell(i);
    const x = (columnOf(board, body) + 0.5) * cell;
    const y = (rowOf(board, body) + 0.5) * cell;
    if (i === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
  context.stroke();
  context.fillStyle = HEAD;
  context.beginPath();
  context.arc(
    (columnOf(board, board.head) + 0.5) * cell,
    (rowOf(board, board.head) + 0.5) * cell,
    0.4 * cell,
    0,
    2 * Math.PI,
  );
  context.fill();
}

function drawEyes(context: Context2D, column: number, row: number, cell: number, eyes: number[]): void {
  context.fillStyle = EYE;
  for (let i = 0; i < 4; i += 2) {
    context.beginPath();
    context.arc(
      (column + 0.5 + eyes[i]) * cell,
      (row + 0.5 + eyes[i + 1]) * cell,
      0.08 * cell,
      0,
      2 * Math.PI,
    );
    context.fill();
  }
}

function columnOf(board: Board, cell: number): number {
  return (cell % board.width) - 1;
}

function rowOf(board: Board, cell: number): number {
  return Math.trunc(cell / board.width) - 1;
}
