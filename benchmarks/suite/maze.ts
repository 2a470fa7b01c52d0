/**
 * A maze with memory: a lamp at the start says which of three doors is open; you see only the fields around you.
 * There is time enough that random play now and then reaches a door: what is hard is to remember.
 */

import { box, type Context2D, defineGame, discrete, type StartContext } from "attract";

/** S is the start, where the lamp is seen; 0, 1 and 2 are the doors. */
const MAP = [
  "###########",
  "#S#...#####",
  "#.#.#.##1##",
  "#.#.#.#...#",
  "#...#...#.#",
  "#####.###.#",
  "#0....#...#",
  "#####.#.###",
  "####....2##",
  "###########",
];
const MOVES = [
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
];
const NUM_DOORS = 3;

export class Maze {
  x = 1;
  y = 1;
  open = 0;

  start({ random }: StartContext) {
    this.x = 1;
    this.y = 1;
    this.open = random.int(NUM_DOORS);
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    const [dx, dy] = MOVES[action];
    if (MAP[this.y + dy][this.x + dx] !== "#") {
      this.x += dx;
      this.y += dy;
    }
    const door = "012".indexOf(MAP[this.y][this.x]);
    return { observation: this.observe(), reward: door === this.open ? 10 : 0, terminated: door >= 0 };
  }

  draw(context: Context2D, width: number, height: number) {
    const cell = Math.min(width / MAP[0].length, height / MAP.length);
    context.clearRect(0, 0, width, height);
    for (let y = 0; y < MAP.length; y++) {
      for (let x = 0; x < MAP[y].length; x++) {
        const field = MAP[y][x];
        if (field === ".") continue;
        context.fillStyle = field === "#" ? "#445" : field === String(this.open) ? "#3a3" : "#aab";
        context.fillRect(x * cell, y * cell, cell, cell);
      }
    }
    context.fillStyle = "#c63";
    context.fillRect((this.x + 0.2) * cell, (this.y + 0.2) * cell, 0.6 * cell, 0.6 * cell);
  }

  /** The lamp, lit at the start only, and the nine fields around: 1 wall, 0 free, -1 a door. */
  observe() {
    const isStart = MAP[this.y][this.x] === "S";
    const lamp = [0, 1, 2].map((door) => (isStart && door === this.open ? 1 : 0));
    const fields: number[] = [];
    for (let dy = -1; dy <= 1; dy++) {
      for (let dx = -1; dx <= 1; dx++) {
        const field = MAP[this.y + dy]?.[this.x + dx] ?? "#";
        fields.push(field === "#" ? 1 : "012".includes(field) ? -1 : 0);
      }
    }
    return [...lamp, ...fields];
  }
}

export default defineGame({
  id: "Maze-v1",
  tickSeconds: 0.1,
  maxSeconds: 30,
  observation: box({ shape: [12], low: -1, high: 1 }),
  action: discrete(["up", "down", "left", "right"]),
  keys: { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" },
  create: () => new Maze(),
});
