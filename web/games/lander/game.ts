/** Lander: bring a craft with one main and two side engines down gently on its pad, by the rules of LunarLander-v3. */

import {
  box,
  type Context2D,
  defineGame,
  discrete,
  type Out,
  type StartContext,
  type UpdateResult,
} from "attract";
import { drawLander } from "./draw.ts";
import { HALF_WIDTH, HEIGHT, NUM_GROUND_POINTS, PAD_HEIGHT, REST_HEIGHT, Vessel } from "./vessel.ts";

const START_HEIGHT = HEIGHT - PAD_HEIGHT;
/** Each component of the push at the start is uniform in plus or minus this, in newtons, for one tick. */
const START_FORCE = 1000;
/** Ground points this far from the middle one are level with the pad. */
const PAD_POINTS = 2;
/** Weight of each of three neighbouring heights in the ground's. */
const SMOOTHING = 0.33;
// Scales that bring the observation near one; heights and speeds in the proportions of the visible world.
const SCALE_HEIGHT = HEIGHT / 2;
const TICK_SECONDS = 1 / 50;
const SCALE_VELOCITY_X = HALF_WIDTH * TICK_SECONDS;
const SCALE_VELOCITY_Y = SCALE_HEIGHT * TICK_SECONDS;
const SCALE_SPIN = 20 * TICK_SECONDS;

const NOTHING = 0;
const MAIN = 2;
/** Push of the side engines per action: nothing, left, main, right. */
const PUSHES = [0, -1, 0, 1];

/** One flight. Reward terms: the approach as differences of a potential, fuel, and in the last tick only the outcome. */
export class Lander {
  readonly #ground = new Float64Array(NUM_GROUND_POINTS);
  readonly #hills = new Float64Array(NUM_GROUND_POINTS + 1);
  /** What is observed, before it is rounded to float32. */
  readonly #state = new Float64Array(8);
  #vessel: Vessel | undefined;
  #random: StartContext["random"] | undefined;
  #potential = 0;
  #action = NOTHING;
  /** One set of objects for all ticks. */
  readonly #terms = { approach: 0, main_fuel: 0, side_fuel: 0, outcome: 0 };
  readonly #info = { landed: 0 };
  readonly #result = { terminated: false, rewardTerms: this.#terms, info: this.#info };

  start({ random, out }: StartContext<Float32Array>): void {
    this.#random = random;
    this.#shapeGround(random);
    const forceX = START_FORCE * (2 * random() - 1);
    const forceY = START_FORCE * (2 * random() - 1);
    this.#vessel = new Vessel(this.#ground, START_HEIGHT, forceX, forceY);
    this.#advance(TICK_SECONDS, NOTHING, out);
    this.#potential = potentialOf(this.#state);
  }

  update(deltaTime: number, action: number, out: Out<Float32Array>): UpdateResult {
    this.#advance(deltaTime, action, out);
    const vessel = this.#vessel!;
    const potential = potentialOf(this.#state);
    const isLanded = vessel.isAtRest;
    const isLost = !isLanded && (vessel.isCrashed || Math.abs(this.#state[0]) >= 1);
    const isOver = isLanded || isLost;
    this.#terms.approach = isOver ? 0 : potential - this.#potential;
    this.#terms.main_fuel = !isOver && action === MAIN ? 1 : 0;
    this.#terms.side_fuel = !isOver && PUSHES[action] !== 0 ? 1 : 0;
    this.#terms.outcome = isLanded ? 1 : isLost ? -1 : 0;
    this.#info.landed = isLanded ? 1 : 0;
    this.#potential = potential;
    this.#result.terminated = isOver;
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    if (this.#vessel === undefined) return;
    drawLander(
      context2d,
      width,
      height,
      this.#vessel,
      this.#ground,
      this.#action === MAIN,
      PUSHES[this.#action],
    );
  }

  #advance(deltaTime: number, action: number, out: Out<Float32Array>): void {
    const vessel = this.#vessel!;
    const random = this.#random!;
    this.#action = action;
    const along = 2 * random() - 1;
    const across = 2 * random() - 1;
    vessel.step(deltaTime, action === MAIN, PUSHES[action], along, across);
    const position = vessel.hull.getPosition();
    const velocity = vessel.hull.getLinearVelocity();
    const state = this.#state;
    state[0] = position.x / HALF_WIDTH;
    state[1] = (position.y - REST_HEIGHT) / SCALE_HEIGHT;
    state[2] = velocity.x * SCALE_VELOCITY_X;
    state[3] = velocity.y * SCALE_VELOCITY_Y;
    state[4] = vessel.hull.getAngle();
    state[5] = vessel.hull.getAngularVelocity() * SCALE_SPIN;
    state[6] = vessel.isStanding(0) ? 1 : 0;
    state[7] = vessel.isStanding(1) ? 1 : 0;
    out.observation.set(state);
  }

  /** Random hills, smoothed over three points (the first and the last hill are neighbours), level around the pad. */
  #shapeGround(random: StartContext["random"]): void {
    const hills = this.#hills;
    const middle = (NUM_GROUND_POINTS - 1) / 2;
    for (let i = 0; i < hills.length; i++) {
      const height = (HEIGHT / 2) * random();
      hills[i] = Math.abs(i - middle) <= PAD_POINTS ? PAD_HEIGHT : height;
    }
    for (let i = 0; i < NUM_GROUND_POINTS; i++) {
      const before = hills[i === 0 ? hills.length - 1 : i - 1];
      this.#ground[i] = SMOOTHING * (before + hills[i] + hills[i + 1]) - PAD_HEIGHT;
    }
  }
}

/** Nearer, slower, upright and standing is worth more; differences of it sum to what the whole approach was worth. */
function potentialOf(state: Float64Array): number {
  const distance = Math.hypot(state[0], state[1]);
  const speed = Math.hypot(state[2], state[3]);
  return -100 * (distance + speed + Math.abs(state[4])) + 10 * (state[6] + state[7]);
}

const ANY = Number.POSITIVE_INFINITY;

export default defineGame({
  id: "Lander-v2",
  tickSeconds: TICK_SECONDS,
  maxSeconds: 20,
  observation: box({
    shape: [8],
    low: [-1.5, -ANY, -ANY, -ANY, -ANY, -ANY, 0, 0],
    high: [1.5, ANY, ANY, ANY, ANY, ANY, 1, 1],
  }),
  action: discrete(["nothing", "left", "main", "right"]),
  keys: { ArrowLeft: "left", ArrowUp: "main", ArrowRight: "right" },
  idle: "nothing",
  metrics: { landed: "last" },
  rewardTerms: { approach: 1, main_fuel: -0.3, side_fuel: -0.03, outcome: 100 },
  create: () => new Lander(),
});
