/** One sparse goal: three rooms, a treasure in the last one, and nothing else is worth anything. */

import { box, type Context2D, defineGame, discrete, type StartContext } from "attract";

const MAP = [
  "#################",
  "#.....#.....#...#",
  "#.....#.....#...#",
  "#.....#.........#",
  "#.....#.....#...#",
  "#...........#...#",
  "#.....#.....#..T#",
  "#################",
];
const MOVES = [
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
];

export class Treasure {
  x = 0;
  y = 0;

  start({ random }: StartContext) {
    this.x = 1 + random.int(2);
    this.y = 1 + random.int(6);
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    const [dx, dy] = MOVES[action];
    if (MAP[this.y + dy][this.x + dx] !== "#") {
      this.x += dx;
      this.y += dy;
    }
    const isFound = MAP[this.y][this.x] === "T";
    return { observation: this.observe(), reward: isFound ? 100 : 0, terminated: isFound };
  }

  draw(context: Context2D, width: number, height: number) {
    const cell = Math.min(width / MAP[0].length, height / MAP.length);
    context.clearRect(0, 0, width, height);
    for (let y = 0; y < MAP.length; y++) {
      for (let x = 0; x < MAP[y].length; x++) {
        if (MAP[y][x] === ".") continue;
        context.fillStyle = MAP[y][x] === "T" ? "#da2" : "#445";
        context.fillRect(x * cell, y * cell, cell, cell);
      }
    }
    context.fillStyle = "#c63";
    context.fillRect((this.x + 0.2) * cell, (this.y + 0.2) * cell, 0.6 * cell, 0.6 * cell);
  }

  /** Where you are, and which of the four sides are walls. */
  observe() {
    return [this.x, this.y, ...MOVES.map(([dx, dy]) => (MAP[this.y + dy][this.x + dx] === "#" ? 1 : 0))];
  }
}

export default defineGame({
  id: "Treasure-v1",
  tickSeconds: 0.1,
  maxSeconds: 8,
  observation: box({ shape: [6], low: 0, high: 16 }),
  action: discrete(["up", "down", "left", "right"]),
  keys: { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" },
  create: () => new Treasure(),
});
