/** A merge puzzle like 2048 on nine fields: tiles slide, equal ones merge and count what they become. */

import {
  box,
  type Context2D,
  defineGame,
  discrete,
  type GameRandom,
  type Out,
  type StartContext,
} from "attract";

const SIZE = 3;
/** For up, down, left and right the lines that slide, each from the side it slides to. */
const LINES = [
  lines((line, i) => i * SIZE + line),
  lines((line, i) => (SIZE - 1 - i) * SIZE + line),
  lines((line, i) => line * SIZE + i),
  lines((line, i) => line * SIZE + SIZE - 1 - i),
];

function lines(fieldAt: (line: number, i: number) => number) {
  return [0, 1, 2].map((line) => [0, 1, 2].map((i) => fieldAt(line, i)));
}

/** The board after sliding and the points of its merges. */
function slide(board: readonly number[], action: number) {
  const next = new Array<number>(SIZE * SIZE).fill(0);
  let points = 0;
  for (const fields of LINES[action]) {
    const tiles = fields.map((field) => board[field]).filter((tile) => tile > 0);
    for (let to = 0; tiles.length > 0; to++) {
      let tile = tiles.shift()!;
      if (tile === tiles[0]) {
        tile += tiles.shift()!;
        points += tile;
      }
      next[fields[to]] = tile;
    }
  }
  return { next, points, isLegal: next.some((tile, field) => tile !== board[field]) };
}

export class Merge {
  board: number[] = [];
  random!: GameRandom;

  start({ random, out }: StartContext) {
    this.random = random;
    this.board = new Array(SIZE * SIZE).fill(0);
    this.addTile();
    this.addTile();
    this.markLegal(out);
    return this.observe();
  }

  update(_deltaTime: number, action: number, out: Out) {
    const { next, points, isLegal } = slide(this.board, action);
    if (isLegal) {
      this.board = next;
      this.addTile();
    }
    const terminated = !this.markLegal(out);
    return { observation: this.observe(), reward: points, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const cell = Math.min(width, height) / SIZE;
    context.clearRect(0, 0, width, height);
    context.font = `${cell / 3}px sans-serif`;
    this.board.forEach((tile, field) => {
      const x = (field % SIZE) * cell;
      const y = Math.floor(field / SIZE) * cell;
      context.strokeRect(x, y, cell, cell);
      if (tile > 0) context.fillText(String(tile), x + cell / 4, y + cell / 2);
    });
  }

  addTile() {
    const empty = this.board.flatMap((tile, field) => (tile === 0 ? [field] : []));
    this.board[empty[this.random.int(empty.length)]] = this.random() < 0.9 ? 2 : 4;
  }

  /** Marks the moves that change something; whether there is one. */
  markLegal(out: Out) {
    const legal = LINES.map((_, action) => (slide(this.board, action).isLegal ? 1 : 0));
    legal.forEach((isLegal, action) => {
      out.actionMask![action] = isLegal;
    });
    return legal.includes(1);
  }

  /** The tiles as powers of two, 0 for an empty field. */
  observe() {
    return this.board.map((tile) => (tile === 0 ? 0 : Math.log2(tile)));
  }
}

export default defineGame({
  id: "Merge-v1",
  tickSeconds: 0.2,
  observation: box({ shape: [SIZE * SIZE], low: 0, high: 12 }),
  action: discrete(["up", "down", "left", "right"]),
  actionMask: true,
  keys: { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" },
  create: () => new Merge(),
});
