/** How the lander looks: a night sky, the ground with its pad, the craft and its flames. */

import type { Context2D } from "attract";
import { HALF_WIDTH, LEG_HALF_LENGTH, LEG_HALF_WIDTH, NUM_GROUND_POINTS, type Vessel } from "./vessel.ts";

const SKY_TOP = "#0d1226";
const SKY_BOTTOM = "#283058";
const STAR = "#cdd6ff";
const GROUND = "#8a90ad";
const PAD = "#ffd166";
const HULL = "#eef0ff";
const WINDOW = "#4cc9f0";
const LEG = "#aeb6d9";
const FLAME = "#ff9f43";
/** Height in metres that is visible above and below the pad. */
const VISIBLE_ABOVE = 10.5;
const VISIBLE_BELOW = 3.4;
const PAD_HALF_WIDTH = 2;
const NUM_STARS = 60;

/** Draws on the whole canvas; `push` is -1, 0 or 1 for the side engines. */
export function drawLander(
  context: Context2D,
  width: number,
  height: number,
  vessel: Vessel,
  ground: ArrayLike<number>,
  isMainOn: boolean,
  push: number,
): void {
  const scale = Math.min(width / (2 * HALF_WIDTH), height / (VISIBLE_ABOVE + VISIBLE_BELOW));
  drawSky(context, width, height);
  context.save();
  // From here on metres with y up, the pad's middle at the origin.
  context.translate(width / 2, height - VISIBLE_BELOW * scale);
  context.scale(scale, -scale);
  drawGround(context, ground);
  for (const leg of vessel.legs) drawLeg(context, leg.getPosition(), leg.getAngle());
  drawHull(context, vessel, isMainOn, push);
  context.restore();
}

function drawSky(context: Context2D, width: number, height: number): void {
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, SKY_TOP);
  sky.addColorStop(1, SKY_BOTTOM);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = STAR;
  context.globalAlpha = 0.6;
  // The golden ratio spreads the stars evenly, the same in every frame.
  for (let i = 1; i <= NUM_STARS; i++) {
    const x = ((i * 0.618034) % 1) * width;
    const y = ((i * 0.754878) % 1) * height * 0.8;
    context.fillRect(x, y, 1 + (i % 3) * 0.5, 1 + (i % 3) * 0.5);
  }
  context.globalAlpha = 1;
}

function drawGround(context: Context2D, ground: ArrayLike<number>): void {
  const spacing = (2 * HALF_WIDTH) / (NUM_GROUND_POINTS - 1);
  context.fillStyle = GROUND;
  context.beginPath();
  context.moveTo(-2 * HALF_WIDTH, -VISIBLE_BELOW - 1);
  context.lineTo(-2 * HALF_WIDTH, ground[0]);
  for (let i = 0; i < NUM_GROUND_POINTS; i++) context.lineTo(-HALF_WIDTH + i * spacing, ground[i]);
  context.lineTo(2 * HALF_WIDTH, ground[NUM_GROUND_POINTS - 1]);
  context.lineTo(2 * HALF_WIDTH, -VISIBLE_BELOW - 1);
  context.closePath();
  context.fill();
  context.strokeStyle = PAD;
  context.lineWidth = 0.12;
  context.beginPath();
  context.moveTo(-PAD_HALF_WIDTH, 0);
  context.lineTo(PAD_HALF_WIDTH, 0);
  context.stroke();
  for (const side of [-1, 1]) drawFlag(context, side * PAD_HALF_WIDTH);
}

function drawFlag(context: Context2D, x: number): void {
  context.strokeStyle = HULL;
  context.lineWidth = 0.06;
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, 1.2);
  context.stroke();
  context.fillStyle = PAD;
  context.beginPath();
  context.moveTo(x, 1.2);
  context.lineTo(x + 0.6, 1);
  context.lineTo(x, 0.8);
  context.closePath();
  context.fill();
}

function drawLeg(context: Context2D, position: { x: number; y: number }, angle: number): void {
  context.save();
  context.translate(position.x, position.y);
  context.rotate(angle);
  context.fillStyle = LEG;
  context.fillRect(-LEG_HALF_WIDTH, -LEG_HALF_LENGTH, 2 * LEG_HALF_WIDTH, 2 * LEG_HALF_LENGTH);
  context.restore();
}

function drawHull(context: Context2D, vessel: Vessel, isMainOn: boolean, push: number): void {
  const position = vessel.hull.getPosition();
  context.save();
  context.translate(position.x, position.y);
  context.rotate(vessel.hull.getAngle());
  if (isMainOn) drawFlame(context, -0.18, -0.33, 0.18, -0.33, 0, -1.1);
  if (push !== 0) drawFlame(context, -push * 0.5, 0.55, -push * 0.5, 0.38, -push * 0.95, 0.47);
  context.fillStyle = HULL;
  context.beginPath();
  context.moveTo(-0.47, 0.57);
  context.lineTo(-0.57, 0);
  context.lineTo(-0.57, -0.33);
  context.lineTo(0.57, -0.33);
  context.lineTo(0.57, 0);
  context.lineTo(0.47, 0.57);
  context.closePath();
  context.fill();
  context.fillStyle = WINDOW;
  context.beginPath();
  context.arc(0, 0.2, 0.2, 0, 2 * Math.PI);
  context.fill();
  context.restore();
}

function drawFlame(
  context: Context2D,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  tipX: number,
  tipY: number,
): void {
  context.fillStyle = FLAME;
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(tipX, tipY);
  context.lineTo(x1, y1);
  context.closePath();
  context.fill();
}
