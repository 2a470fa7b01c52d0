/** Harvest: apples and stones fall, a basket moves below them, and the agent sees nothing but the picture. */

import {
  box,
  type Context2D,
  defineGame,
  discrete,
  type Out,
  type StartContext,
  type UpdateResult,
} from "attract";
import { drawHarvest } from "./draw.ts";
import { BASKET, BASKET_ROW, BASKET_WIDTH, BYTES, Picture, SIZE, THING_SIZE } from "./picture.ts";

/** Columns the basket moves in a step. */
const BASKET_SPEED = 2;
/** How often what falls is an apple. */
const APPLE_SHARE = 0.7;
/** More than ever fall at a time: one starts in every `PAUSE_LOW` steps and is gone after SIZE. */
const MAX_THINGS = 8;
const PAUSE_LOW = 4;

/** What falls. */
export const APPLE = 0;
export const STONE = 1;

/** One harvest: a point for an apple in the basket, one less for a stone. */
export class Harvest {
  /** Left column of the basket. */
  basket = 0;
  /** Left column, upper row and kind (APPLE or STONE) per falling thing; the first `numThings` entries are in use. */
  readonly columns = new Int32Array(MAX_THINGS);
  readonly rows = new Int32Array(MAX_THINGS);
  readonly kinds = new Int32Array(MAX_THINGS);
  numThings = 0;
  readonly #picture = new Picture();
  #pause = 8;
  #step = 0;
  #random: StartContext["random"] | undefined;
  /** One set of objects for all ticks: the hot loop allocates nothing. */
  readonly #terms = { apple: 0, stone: 0 };
  readonly #info = { apples: 0, missed: 0, stones: 0 };
  readonly #result = { terminated: false, rewardTerms: this.#terms, info: this.#info };

  start({ random, parameters, out }: StartContext<Uint8Array>): void {
    this.#random = random;
    this.#pause = Math.round(parameters.pause);
    this.#step = 0;
    this.numThings = 0;
    this.basket = random.int(SIZE - BASKET_WIDTH + 1);
    this.#drop();
    this.#observe(out);
  }

  update(_deltaTime: number, action: number, out: Out<Uint8Array>): UpdateResult {
    const moved = this.basket + BASKET_SPEED * (action - 1);
    this.basket = Math.min(SIZE - BASKET_WIDTH, Math.max(0, moved));
    this.#terms.apple = 0;
    this.#terms.stone = 0;
    this.#info.apples = 0;
    this.#info.missed = 0;
    this.#info.stones = 0;
    this.#fall();
    this.#step++;
    if (this.#step % this.#pause === 0) this.#drop();
    this.#observe(out);
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    drawHarvest(context2d, width, height, this.#picture.pixels);
  }

  /** Everything one row down; what reaches the basket's row is caught or gone. */
  #fall(): void {
    let kept = 0;
    for (let i = 0; i < this.numThings; i++) {
      const row = this.rows[i] + 1;
      if (row + THING_SIZE > BASKET_ROW) {
        this.#land(this.columns[i], this.kinds[i]);
        continue;
      }
      this.columns[kept] = this.columns[i];
      this.rows[kept] = row;
      this.kinds[kept] = this.kinds[i];
      kept++;
    }
    this.numThings = kept;
  }

  #land(column: number, kind: number): void {
    const isCaught = column + THING_SIZE > this.basket && column < this.basket + BASKET_WIDTH;
    if (kind === APPLE) {
      this.#terms.apple = isCaught ? 1 : 0;
      this.#info.apples = isCaught ? 1 : 0;
      this.#info.missed = isCaught ? 0 : 1;
    } else {
      this.#terms.stone = isCaught ? 1 : 0;
      this.#info.stones = isCaught ? 1 : 0;
    }
  }

  #drop(): void {
    const random = this.#random!;
    this.columns[this.numThings] = random.int(SIZE - THING_SIZE + 1);
    this.rows[this.numThings] = 0;
    this.kinds[this.numThings] = random() < APPLE_SHARE ? APPLE : STONE;
    this.numThings++;
  }

  #observe(out: Out<Uint8Array>): void {
    const picture = this.#picture;
    picture.clear();
    for (let i = 0; i < this.numThings; i++) {
      picture.fill(this.columns[i], this.rows[i], THING_SIZE, THING_SIZE, this.kinds[i]);
    }
    picture.fill(this.basket, BASKET_ROW, BASKET_WIDTH, SIZE - BASKET_ROW, BASKET);
    out.observation.set(picture.pixels);
  }
}

export default defineGame({
  id: "Harvest-v1",
  tickSeconds: 0.1,
  maxSeconds: 20,
  observation: box({ dtype: "uint8", shape: [SIZE, SIZE, BYTES] }),
  action: discrete(["left", "stay", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  idle: "stay",
  parameters: { pause: { default: 8, low: PAUSE_LOW, high: 40 } },
  metrics: { apples: "sum", missed: "sum", stones: "sum" },
  rewardTerms: { apple: 1, stone: -1 },
  create: () => new Harvest(),
});
