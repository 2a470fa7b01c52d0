/** How 2048 (gabrielecirulli/2048) is trained: the board's powers of two, and which moves there are. */

import { box, definePageGame, discrete, type PageWindow } from "attract/page";

const POWERS = 12;
/** Where a tile goes: up, right, down, left. */
const MOVES = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
];

function isAllowed(w: PageWindow, [dx, dy]: number[]): boolean {
  const { cells } = w.manager.grid;
  for (let x = 0; x < 4; x++) {
    for (let y = 0; y < 4; y++) {
      const tile = cells[x][y];
      const next = cells[x + dx]?.[y + dy];
      if (tile && (next === null || next?.value === tile.value)) return true;
    }
  }
  return false;
}

export default definePageGame({
  id: "Game2048-v1",
  page: "index.html",
  size: [520, 800],
  ticksPerStep: 2,
  maxSeconds: 120,
  observation: box({ low: 0, high: 1, shape: [16 * POWERS] }),
  action: discrete(["up", "right", "down", "left"]),
  actionMask: true,
  keys: { up: ["ArrowUp"], right: ["ArrowRight"], down: ["ArrowDown"], left: ["ArrowLeft"] },
  taps: true,
  // The game is not a global: its instance is caught when it is created.
  loaded(w) {
    const setup = w.GameManager.prototype.setup;
    w.GameManager.prototype.setup = function () {
      w.manager = this;
      return setup.call(this);
    };
  },
  ready: (w) => w.manager != null,
  restart: (w) => w.manager.restart(),
  observe(w) {
    const seen = new Array(16 * POWERS).fill(0);
    w.manager.grid.cells.flat().forEach((tile: { value: number } | null, i: number) => {
      if (tile) seen[i * POWERS + Math.min(Math.log2(tile.value), POWERS) - 1] = 1;
    });
    return seen;
  },
  allowed: (w) => MOVES.map((move) => Number(isAllowed(w, move))),
  score: (w) => w.manager.score / 100,
  over: (w) => w.manager.isGameTerminated(),
});
