/** Snake: eat, grow, and stay clear of the walls and of yourself. */

import {
  box,
  type Context2D,
  defineGame,
  discrete,
  type Out,
  type StartContext,
  type UpdateResult,
} from "attract";
import { Board, MAX_SIZE } from "./board.ts";
import { drawSnake } from "./draw.ts";

/** The snake starves after this many steps per cell of the board without food. */
const HUNGER_PER_CELL = 2;
/** up, down, left, right: the direction that undoes each. */
const OPPOSITE = [1, 0, 3, 2];
/** Straight and diagonal rays the snake looks along, as (up/down, left/right) pairs. */
const RAY_ROWS = [-1, 1, 0, 0, -1, -1, 1, 1];
const RAY_COLUMNS = [0, 0, -1, 1, -1, 1, -1, 1];
/** Free neighbours 4, heading 4, rays 8, food 4 + 2, tail 2, length 1, hunger 1. */
const OBSERVATION_SIZE = 26;

/** One game of snake on a board of 6 to 20 cells a side. */
export class Snake {
  readonly board = new Board();
  direction = 0;
  #hunger = 0;
  #random: StartContext["random"] | undefined;
  /** One set of objects for all ticks: the hot loop allocates nothing. */
  readonly #terms = { food: 0, death: 0, step: 1 };
  readonly #info = { food: 0, size: 0 };
  readonly #result = { terminated: false, rewardTerms: this.#terms, info: this.#info };

  start({ random, parameters, out }: StartContext<Float32Array>): void {
    this.#random = random;
    this.direction = this.board.reset(Math.round(parameters.size), random);
    this.#hunger = 0;
    this.#info.food = 0;
    this.#info.size = this.board.size;
    this.#observe(out.observation);
  }

  update(_deltaTime: number, action: number, out: Out<Float32Array>): UpdateResult {
    const { board } = this;
    if (action !== OPPOSITE[this.direction]) this.direction = action;
    const cell = board.head + board.offsets[this.direction];
    let isAlive = board.isFree(cell);
    this.#hunger++;
    this.#terms.food = 0;
    if (isAlive && board.advance(cell)) {
      this.#hunger = 0;
      this.#terms.food = 1;
      this.#info.food++;
      board.placeFood(this.#random!);
    }
    isAlive &&= this.#hunger < this.#hungerLimit();
    this.#terms.death = isAlive ? 0 : 1;
    this.#result.terminated = !isAlive || board.food < 0;
    this.#observe(out.observation);
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    drawSnake(context2d, width, height, this.board, this.direction, this.#info.food);
  }

  #hungerLimit(): number {
    return HUNGER_PER_CELL * this.board.size * this.board.size;
  }

  #observe(observation: Float32Array): void {
    const { board, direction } = this;
    const { head, food, width, size } = board;
    for (let i = 0; i < 4; i++) {
      observation[i] = board.isFree(head + board.offsets[i]) ? 1 : 0;
      observation[4 + i] = i === direction ? 1 : 0;
    }
    for (let ray = 0; ray < 8; ray++) {
      const offset = RAY_ROWS[ray] * width + RAY_COLUMNS[ray];
      let distance = 1;
      for (let cell = head + offset; board.blocked[cell] === 0; cell += offset) distance++;
      observation[8 + ray] = 1 / distance;
    }
    const row = Math.trunc(head / width);
    const column = head % width;
    const down = food < 0 ? 0 : Math.trunc(food / width) - row;
    const right = food < 0 ? 0 : (food % width) - column;
    observation[16] = down < 0 ? 1 : 0;
    observation[17] = down > 0 ? 1 : 0;
    observation[18] = right < 0 ? 1 : 0;
    observation[19] = right > 0 ? 1 : 0;
    observation[20] = down / size;
    observation[21] = right / size;
    const tail = board.bodyCell(0);
    observation[22] = (Math.trunc(tail / width) - row) / size;
    observation[23] = ((tail % width) - column) / size;
    observation[24] = board.length / (size * size);
    observation[25] = this.#hunger / this.#hungerLimit();
  }
}

export default defineGame({
  id: "Snake-v1",
  tickSeconds: 0.1,
  maxSeconds: 120,
  observation: box({ low: -1, high: 1, shape: [OBSERVATION_SIZE] }),
  action: discrete(["up", "down", "left", "right"]),
  keys: { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" },
  parameters: { size: { default: 10, low: 6, high: MAX_SIZE } },
  metrics: { food: "last", size: "last" },
  rewardTerms: { food: 1, death: -1, step: -0.005 },
  create: () => new Snake(),
});
