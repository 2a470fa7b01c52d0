/** Keydoor: fetch the key, open the door, take the treasure behind it; nothing pays before the treasure. */

import {
  box,
  type Context2D,
  defineGame,
  discrete,
  type Out,
  type StartContext,
  type UpdateResult,
} from "attract";
import { type Cell, drawKeydoor, HEIGHT, type Rooms, WALL, WIDTH } from "./draw.ts";

const MOVES = [
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
];
const USE = 4;

/** One search: the key lies in the left room, the treasure in the right one, and the door between them is locked. */
export class Keydoor implements Rooms {
  readonly player: Cell = { x: 0, y: 0 };
  readonly key: Cell = { x: 0, y: 0 };
  readonly door: Cell = { x: WALL, y: 0 };
  readonly treasure: Cell = { x: 0, y: 0 };
  hasKey = false;
  isOpen = false;
  /** One set of objects for all ticks: the hot loop allocates nothing. */
  readonly #info = { keys: 0, doors: 0 };
  readonly #result = { reward: 0, terminated: false, info: this.#info };

  start({ random, out }: StartContext): void {
    this.hasKey = false;
    this.isOpen = false;
    place(this.key, 0, random);
    do place(this.player, 0, random);
    while (isSame(this.player, this.key));
    this.door.y = random.int(HEIGHT);
    place(this.treasure, WALL + 1, random);
    this.#observe(out);
  }

  update(_deltaTime: number, action: number, out: Out): UpdateResult {
    this.#info.keys = 0;
    this.#info.doors = 0;
    let isFound = false;
    if (action === USE) isFound = this.#use();
    else this.#move(MOVES[action][0], MOVES[action][1]);
    this.#result.reward = isFound ? 1 : 0;
    this.#result.terminated = isFound;
    this.#observe(out);
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    drawKeydoor(context2d, width, height, this);
  }

  #move(dx: number, dy: number): void {
    const x = this.player.x + dx;
    const y = this.player.y + dy;
    if (x < 0 || x >= WIDTH || y < 0 || y >= HEIGHT) return;
    if (x === WALL && !(this.isOpen && y === this.door.y)) return;
    this.player.x = x;
    this.player.y = y;
  }

  /** Takes the key or the treasure from the floor, or unlocks the door from beside it; whether it was the treasure. */
  #use(): boolean {
    const { player, door } = this;
    if (!this.hasKey && isSame(player, this.key)) {
      this.hasKey = true;
      this.#info.keys = 1;
    } else if (this.hasKey && !this.isOpen && player.x === WALL - 1 && player.y === door.y) {
      this.isOpen = true;
      this.#info.doors = 1;
    }
    return isSame(player, this.treasure);
  }

  #observe(out: Out): void {
    const { observation } = out;
    const { player, key, door, treasure } = this;
    observation[0] = player.x / (WIDTH - 1);
    observation[1] = player.y / (HEIGHT - 1);
    observation[2] = (key.x - player.x) / (WIDTH - 1);
    observation[3] = (key.y - player.y) / (HEIGHT - 1);
    observation[4] = (door.x - player.x) / (WIDTH - 1);
    observation[5] = (door.y - player.y) / (HEIGHT - 1);
    observation[6] = (treasure.x - player.x) / (WIDTH - 1);
    observation[7] = (treasure.y - player.y) / (HEIGHT - 1);
    observation[8] = this.hasKey ? 1 : 0;
    observation[9] = this.isOpen ? 1 : 0;
  }
}

/** A random cell of the room whose first column is `left`. */
function place(cell: Cell, left: number, random: StartContext["random"]): void {
  cell.x = left + random.int(WALL);
  cell.y = random.int(HEIGHT);
}

function isSame(a: Cell, b: Cell): boolean {
  return a.x === b.x && a.y === b.y;
}

export default defineGame({
  id: "Keydoor-v1",
  tickSeconds: 0.1,
  maxSeconds: 8,
  observation: box({ shape: [10], low: -1, high: 1 }),
  action: discrete(["up", "down", "left", "right", "use"]),
  keys: { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Space: "use" },
  metrics: { keys: "sum", doors: "sum" },
  create: () => new Keydoor(),
});
