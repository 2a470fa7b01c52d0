/** How CartPole looks: a cart on a rail, its pole and the push of the last tick. */

import type { Context2D } from "attract";

const SKY_TOP = "#1b2440";
const SKY_BOTTOM = "#2d3b63";
const RAIL = "#8fa3d4";
const CART = "#f2f4fb";
const WHEEL = "#1b2440";
const POLE = "#ffb454";
const PUSH = "#5ad1c5";
/** Drawn length of the pole in metres: twice the half length of the dynamics. */
const POLE_LENGTH = 1;

/** Draws on the whole canvas; `x` and `limit` in metres, `angle` in radians from upright, `push` in newtons. */
export function drawCartPole(
  context: Context2D,
  width: number,
  height: number,
  x: number,
  angle: number,
  push: number,
  limit: number,
): void {
  const scale = Math.min(width / (2.3 * limit), height / 1.9);
  const rail = height * 0.78;
  const center = width / 2 + x * scale;
  drawBackground(context, width, height);
  drawRail(context, width, rail, limit * scale);
  const cartWidth = 0.42 * scale;
  const cartHeight = 0.22 * scale;
  drawPush(context, center, rail - cartHeight * 0.7, cartWidth, Math.sign(push));
  context.fillStyle = CART;
  context.beginPath();
  context.roundRect(center - cartWidth / 2, rail - cartHeight * 1.2, cartWidth, cartHeight, cartHeight * 0.2);
  context.fill();
  context.fillStyle = WHEEL;
  for (const side of [-0.28, 0.28]) {
    context.beginPath();
    context.arc(center + side * cartWidth, rail - cartHeight * 0.18, cartHeight * 0.18, 0, 2 * Math.PI);
    context.fill();
  }
  const pivot = rail - cartHeight * 1.05;
  context.strokeStyle = POLE;
  context.lineWidth = 0.055 * scale;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(center, pivot);
  context.lineTo(
    center + Math.sin(angle) * POLE_LENGTH * scale,
    pivot - Math.cos(angle) * POLE_LENGTH * scale,
  );
  context.stroke();
  context.fillStyle = WHEEL;
  context.beginPath();
  context.arc(center, pivot, 0.04 * scale, 0, 2 * Math.PI);
  context.fill();
}

function drawBackground(context: Context2D, width: number, height: number): void {
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, SKY_TOP);
  sky.addColorStop(1, SKY_BOTTOM);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
}

function drawRail(context: Context2D, width: number, rail: number, reach: number): void {
  context.strokeStyle = RAIL;
  context.lineWidth = 2;
  context.globalAlpha = 0.8;
  context.beginPath();
  context.moveTo(width / 2 - reach, rail);
  context.lineTo(width / 2 + reach, rail);
  for (const side of [-1, 1]) {
    context.moveTo(width / 2 + side * reach, rail - 8);
    context.lineTo(width / 2 + side * reach, rail + 8);
  }
  context.stroke();
  context.globalAlpha = 1;
}

function drawPush(context: Context2D, center: number, y: number, cartWidth: number, direction: number): void {
  if (direction === 0) return;
  const tail = center - direction * cartWidth * 0.62;
  context.fillStyle = PUSH;
  context.globalAlpha = 0.85;
  context.beginPath();
  context.moveTo(tail, y);
  context.lineTo(tail - direction * cartWidth * 0.28, y - cartWidth * 0.13);
  context.lineTo(tail - direction * cartWidth * 0.28, y + cartWidth * 0.13);
  context.closePath();
  context.fill();
  context.globalAlpha = 1;
}
