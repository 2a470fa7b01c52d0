/** How the pendulum looks: a rod on its pivot, the upright it strives for, and an arc for the motor's torque. */

import type { Context2D } from "attract";

const NIGHT = "#14213d";
const RING = "#2b3a63";
const ROD = "#fca311";
const BOB = "#ffd27a";
const PIVOT = "#e5e5e5";
const TORQUE = "#5ad1c5";

/** Draws on the whole canvas; `angle` in radians from upright, counterclockwise; `torque` in [-1, 1] of the most. */
export function drawPendulum(
  context: Context2D,
  width: number,
  height: number,
  angle: number,
  torque: number,
): void {
  const reach = Math.min(width, height) * 0.4;
  context.save();
  context.fillStyle = NIGHT;
  context.fillRect(0, 0, width, height);
  context.translate(width / 2, height / 2);
  context.strokeStyle = RING;
  context.lineWidth = reach * 0.02;
  context.beginPath();
  context.arc(0, 0, reach, 0, 2 * Math.PI);
  context.stroke();
  const tipX = -Math.sin(angle) * reach;
  const tipY = -Math.cos(angle) * reach;
  context.strokeStyle = ROD;
  context.lineWidth = reach * 0.12;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(tipX, tipY);
  context.stroke();
  drawDisc(context, tipX, tipY, reach * 0.11, BOB);
  drawTorque(context, reach * 0.3, torque);
  drawDisc(context, 0, 0, reach * 0.07, PIVOT);
  context.restore();
}

function drawDisc(context: Context2D, x: number, y: number, radius: number, color: string): void {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/** From the top of the pivot to the side the motor pushes the rod to. */
function drawTorque(context: Context2D, radius: number, torque: number): void {
  if (torque === 0) return;
  const top = -Math.PI / 2;
  const end = top - torque * 0.75 * Math.PI;
  context.strokeStyle = TORQUE;
  context.lineWidth = radius * 0.2;
  context.beginPath();
  context.arc(0, 0, radius, Math.min(top, end), Math.max(top, end));
  context.stroke();
}
