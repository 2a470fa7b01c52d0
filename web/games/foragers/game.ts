/** Foragers: three of them gather berries in a small garden while a wolf is about; the caught come back after a while. */

import {
  box,
  type Context2D,
  defineGame,
  discrete,
  type Out,
  type StartContext,
  type UpdateResult,
} from "attract";
import { drawForagers } from "./draw.ts";
import { columnOf, Garden, NUM_FORAGERS, OFFSETS, rowOf, SIZE } from "./garden.ts";

/** Steps until a caught forager comes back. */
const RETURN_STEPS = 15;
/** The wolf moves in every second step, and then towards the nearest forager this often. */
const WOLF_PERIOD = 2;
const WOLF_CUNNING = 0.75;
/** Free neighbours 4, position 2, two berries of 2 + 4, wolf 3, two others of 3. */
const OBSERVATION_SIZE = 27;
const NUM_SEEN_BERRIES = 2;

/** One garden. All foragers move, then the wolf does. */
export class Foragers {
  readonly garden = new Garden();
  /** Steps until each forager is back; 0 for those that are here. */
  readonly absence = new Int32Array(NUM_FORAGERS);
  #step = 0;
  #random: StartContext["random"] | undefined;
  readonly #berries = new Int32Array(NUM_SEEN_BERRIES);
  /** One set of objects for all ticks: the hot loop allocates nothing. */
  readonly #terms = Array.from({ length: NUM_FORAGERS }, () => ({ berry: 0, caught: 0 }));
  readonly #terminated = new Array<boolean>(NUM_FORAGERS).fill(false);
  readonly #active = new Array<boolean>(NUM_FORAGERS).fill(true);
  readonly #info = { berries: 0, caught: 0 };
  readonly #result = {
    terminated: this.#terminated,
    active: this.#active,
    rewardTerms: this.#terms,
    info: this.#info,
  };

  start({ random, out }: StartContext<Float32Array[]>): void {
    this.#random = random;
    this.#step = 0;
    this.absence.fill(0);
    this.garden.reset(random);
    this.#observe(out);
  }

  update(_deltaTime: number, actions: ArrayLike<number>, out: Out<Float32Array[]>): UpdateResult {
    this.#info.berries = 0;
    this.#info.caught = 0;
    this.#step++;
    for (let agent = 0; agent < NUM_FORAGERS; agent++) this.#move(agent, actions[agent]);
    if (this.#step % WOLF_PERIOD === 0) {
      this.garden.moveWolf(this.#random!() < WOLF_CUNNING, this.#random!);
    }
    for (let agent = 0; agent < NUM_FORAGERS; agent++) this.#settle(agent);
    this.#observe(out);
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    drawForagers(context2d, width, height, this.garden);
  }

  /** Moves a forager that is present; counts down the return of one that is absent. */
  #move(agent: number, action: number): void {
    const { garden } = this;
    const terms = this.#terms[agent];
    terms.berry = 0;
    terms.caught = 0;
    if (this.absence[agent] > 0) {
      this.absence[agent]--;
      if (this.absence[agent] === 0) garden.enter(agent, this.#random!);
      return;
    }
    const cell = garden.foragers[agent] + OFFSETS[action];
    if (action > 0 && garden.isFree(cell)) garden.foragers[agent] = cell;
    if (garden.pick(garden.foragers[agent], this.#random!)) {
      terms.berry = 1;
      this.#info.berries++;
    }
  }

  /** Removes a forager that the wolf has reached; sets who ended and who is active from the next step on. */
  #settle(agent: number): void {
    const { garden } = this;
    const isCaught = this.absence[agent] === 0 && garden.foragers[agent] === garden.wolf;
    if (isCaught) {
      garden.foragers[agent] = -1;
      this.absence[agent] = RETURN_STEPS;
      this.#terms[agent].caught = 1;
      this.#info.caught++;
    }
    this.#terminated[agent] = isCaught;
    this.#active[agent] = this.absence[agent] === 0;
  }

  #observe(out: Out<Float32Array[]>): void {
    const masks = out.actionMask as unknown as Uint8Array[];
    for (let agent = 0; agent < NUM_FORAGERS; agent++) {
      if (this.absence[agent] === 0) this.#observeFrom(agent, out.observation[agent], masks[agent]);
      else {
        out.observation[agent].fill(0);
        masks[agent].fill(1);
      }
    }
  }

  #observeFrom(agent: number, observation: Float32Array, mask: Uint8Array): void {
    const { garden } = this;
    const cell = garden.foragers[agent];
    mask[0] = 1;
    for (let direction = 1; direction <= 4; direction++) {
      mask[direction] = garden.isFree(cell + OFFSETS[direction]) ? 1 : 0;
      observation[direction - 1] = mask[direction];
    }
    observation[4] = rowOf(cell) / SIZE;
    observation[5] = columnOf(cell) / SIZE;
    garden.nearestBerries(cell, this.#berries);
    for (let i = 0; i < NUM_SEEN_BERRIES; i++) {
      const at = 6 + 6 * i;
      const down = rowOf(this.#berries[i]) - rowOf(cell);
      const right = columnOf(this.#berries[i]) - columnOf(cell);
      observation[at] = down / SIZE;
      observation[at + 1] = right / SIZE;
      observation[at + 2] = down < 0 ? 1 : 0;
      observation[at + 3] = down > 0 ? 1 : 0;
      observation[at + 4] = right < 0 ? 1 : 0;
      observation[at + 5] = right > 0 ? 1 : 0;
    }
    observation[18] = (rowOf(garden.wolf) - rowOf(cell)) / SIZE;
    observation[19] = (columnOf(garden.wolf) - columnOf(cell)) / SIZE;
    observation[20] = (this.#step + 1) % WOLF_PERIOD === 0 ? 1 : 0;
    for (let i = 1; i < NUM_FORAGERS; i++) {
      const other = (agent + i) % NUM_FORAGERS;
      const at = 21 + 3 * (i - 1);
      const isHere = this.absence[other] === 0;
      observation[at] = isHere ? 1 : 0;
      observation[at + 1] = isHere ? (rowOf(garden.foragers[other]) - rowOf(cell)) / SIZE : 0;
      observation[at + 2] = isHere ? (columnOf(garden.foragers[other]) - columnOf(cell)) / SIZE : 0;
    }
  }
}

export default defineGame({
  id: "Foragers-v1",
  tickSeconds: 0.2,
  maxSeconds: 40,
  numAgents: NUM_FORAGERS,
  observation: box({ low: -1, high: 1, shape: [OBSERVATION_SIZE] }),
  action: discrete(["stay", "up", "down", "left", "right"]),
  actionMask: true,
  keys: { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" },
  idle: "stay",
  metrics: { berries: "sum", caught: "sum" },
  rewardTerms: { berry: 1, caught: -3 },
  create: () => new Foragers(),
});
