/** Random draws that a test gives, and what a game of MinAtar shows. */

import type { GameRandom } from "../../../../web/sdk/src/random.ts";

/** Draws the numbers given, then 0.99 forever, with which no action sticks. */
export function drawing(...numbers: number[]): GameRandom {
  const next = () => numbers.shift() ?? 0.99;
  return Object.assign(next, { int: (n: number) => Math.floor(next() * n), normal: () => 0 });
}

/** Each cell that is set, as [plane, x, y]. */
export function cells(observation: Uint8Array, planes: number): number[][] {
  return [...observation.keys()]
    .filter((i) => observation[i] === 255)
    .map((i) => [i % planes, Math.floor(i / planes) % 10, Math.floor(i / planes / 10)]);
}
