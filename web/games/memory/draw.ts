/** How the memory game looks: two lamps, a burning fuse until the question, and the answer. */

import type { Context2D } from "attract";

const ROOM = "#1c1a2b";
const DARK_LAMP = "#3a3654";
const LIT_LAMP = "#ffe066";
const GLOW = "#fff3b0";
const FUSE = "#6c6790";
const SPARK = "#ff8c42";
const RIGHT = "#7ed957";
const WRONG = "#ff5d5d";
const TEXT = "#e6e3f5";

/**
 * Draws on the whole canvas. `lit` and `answer` are 0 for left, 1 for right, -1 for none; `progress` runs from 0 at the
 * lamp to 1 at the question and beyond; `side` is shown only with the answer.
 */
export function drawMemory(
  context: Context2D,
  width: number,
  height: number,
  lit: number,
  progress: number,
  answer: number,
  side: number,
): void {
  context.fillStyle = ROOM;
  context.fillRect(0, 0, width, height);
  const radius = Math.min(width, height) * 0.14;
  for (const lamp of [0, 1]) {
    const isShown = lamp === lit || (answer >= 0 && lamp === side);
    const mark = answer === lamp ? (answer === side ? RIGHT : WRONG) : null;
    drawLamp(context, width * (0.25 + 0.5 * lamp), height * 0.38, radius, isShown, mark);
  }
  drawFuse(context, width, height, Math.min(1, progress));
  if (progress < 1) return;
  context.fillStyle = TEXT;
  context.font = `600 ${Math.round(height * 0.09)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText("Which?", width / 2, height * 0.38);
}

function drawLamp(
  context: Context2D,
  x: number,
  y: number,
  radius: number,
  isLit: boolean,
  mark: string | null,
): void {
  if (isLit) {
    context.globalAlpha = 0.35;
    context.fillStyle = GLOW;
    context.beginPath();
    context.arc(x, y, radius * 1.5, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 1;
  }
  context.fillStyle = isLit ? LIT_LAMP : DARK_LAMP;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
  if (mark === null) return;
  context.strokeStyle = mark;
  context.lineWidth = radius * 0.18;
  context.beginPath();
  context.arc(x, y, radius * 1.15, 0, 2 * Math.PI);
  context.stroke();
}

function drawFuse(context: Context2D, width: number, height: number, progress: number): void {
  const left = width * 0.15;
  const right = width * 0.85;
  const y = height * 0.78;
  const spark = left + progress * (right - left);
  context.strokeStyle = FUSE;
  context.lineWidth = height * 0.015;
  context.beginPath();
  context.moveTo(spark, y);
  context.lineTo(right, y);
  context.stroke();
  context.fillStyle = SPARK;
  context.beginPath();
  context.arc(spark, y, height * 0.025, 0, 2 * Math.PI);
  context.fill();
}
