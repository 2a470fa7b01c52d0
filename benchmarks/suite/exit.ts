/** Find the exit: every step costs 1 until you are out. */

import { box, type Context2D, defineGame, discrete, type StartContext } from "attract";

const MAP = [
  "#############",
  "#.....#.....#",
  "#.....#.....#",
  "#...........#",
  "#.....#.....#",
  "#.....#.....#",
  "###.#####.###",
  "#.....#.....#",
  "#.....#.....#",
  "#.....#.....#",
  "#...........#",
  "#.....#.....#",
  "#############",
];
const SIZE = MAP.length;
const MOVES = [
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
];

const isWall = (x: number, y: number) => MAP[y][x] === "#";

export class Exit {
  x = 0;
  y = 0;
  exitX = 0;
  exitY = 0;

  start({ random }: StartContext) {
    do {
      this.exitX = random.int(SIZE);
      this.exitY = random.int(SIZE);
    } while (isWall(this.exitX, this.exitY));
    do {
      this.x = random.int(SIZE);
      this.y = random.int(SIZE);
    } while (isWall(this.x, this.y) || (this.x === this.exitX && this.y === this.exitY));
    return this.observe();
  }

  update(_deltaTime: number, action: number) {
    const [dx, dy] = MOVES[action];
    if (!isWall(this.x + dx, this.y + dy)) {
      this.x += dx;
      this.y += dy;
    }
    const terminated = this.x === this.exitX && this.y === this.exitY;
    return { observation: this.observe(), reward: -1, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const cell = Math.min(width, height) / SIZE;
    context.clearRect(0, 0, width, height);
    context.fillStyle = "#445";
    for (let y = 0; y < SIZE; y++)
      for (let x = 0; x < SIZE; x++) if (isWall(x, y)) context.fillRect(x * cell, y * cell, cell, cell);
    context.fillStyle = "#3a3";
    context.fillRect(this.exitX * cell, this.exitY * cell, cell, cell);
    context.fillStyle = "#c63";
    context.fillRect((this.x + 0.2) * cell, (this.y + 0.2) * cell, 0.6 * cell, 0.6 * cell);
  }

  /** Where you are, where the exit is, and which of the four sides are walls. */
  observe() {
    const walls = MOVES.map(([dx, dy]) => (isWall(this.x + dx, this.y + dy) ? 1 : 0));
    return [this.x, this.y, this.exitX, this.exitY, ...walls];
  }
}

export default defineGame({
  id: "Exit-v1",
  tickSeconds: 0.1,
  maxSeconds: 20,
  observation: box({ shape: [8], low: 0, high: SIZE - 1 }),
  action: discrete(["up", "down", "left", "right"]),
  keys: { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" },
  create: () => new Exit(),
});
