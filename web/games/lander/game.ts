/** Lander: bring a craft with one main and two side engines down gently on its pad. */

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
import { HALF_WIDTH, NUM_GROUND_POINTS, REST_HEIGHT, Vessel } from "./vessel.ts";

const START_HEIGHT = 10;
/** Each component of the starting velocity is uniform in plus or minus this, in metres a second. */
const START_SPEED = 4;
const CEILING = 16;
/** Hills before smoothing, in metres above or below the pad. */
const HILL = 3.3;
/** Ground points this far from the middle one are level with the pad. */
const PAD_POINTS = 2;
/** The lander has landed when both legs stand and it has been this slow for this many ticks. */
const REST_SPEED = 0.05;
const REST_TICKS = 15;
// Scales that bring the observation near one; heights and speeds in the proportions of the visible world.
const SCALE_HEIGHT = 20 / 3;
const SCALE_VELOCITY_X = 0.2;
const SCALE_VELOCITY_Y = 2 / 15;
const SCALE_SPIN = 0.4;

const MAIN = 2;
/** Push of the side engines per action: nothing, left, main, right. */
const PUSHES = [0, -1, 0, 1];

/** One flight. Reward terms after LunarLander: potential-based approach, fuel, and the outcome. */
export class Lander {
  readonly #ground = new Float64Array(NUM_GROUND_POINTS);
  readonly #hills = new Float64Array(NUM_GROUND_POINTS);
  #vessel: Vessel | undefined;
  #restTicks = 0;
  #potential = 0;
  #action = 0;
  /** One set of objects for all ticks. */
  readonly #terms = { approach: 0, main_fuel: 0, side_fuel: 0, outcome: 0 };
  readonly #info = { landed: 0 };
  readonly #result = { terminated: false, rewardTerms: this.#terms, info: this.#info };

  start({ random, out }: StartContext<Float32Array>): void {
    this.#shapeGround(random);
    const velocityX = START_SPEED * (2 * random() - 1);
    const velocityY = START_SPEED * (2 * random() - 1);
    this.#vessel = new Vessel(this.#ground, 0, START_HEIGHT, velocityX, velocityY);
    this.#restTicks = 0;
    this.#action = 0;
    this.#observe(out.observation);
    this.#potential = potentialOf(out.observation);
  }

  update(deltaTime: number, action: number, out: Out<Float32Array>): UpdateResult {
    const vessel = this.#vessel!;
    this.#action = action;
    vessel.step(deltaTime, action === MAIN, PUSHES[action]);
    this.#observe(out.observation);
    const potential = potentialOf(out.observation);
    const { x, y } = vessel.hull.getPosition();
    const isLost = vessel.isCrashed || Math.abs(x) >= HALF_WIDTH || y >= CEILING;
    this.#restTicks = this.#isSlow() ? this.#restTicks + 1 : 0;
    const isLanded = !isLost && this.#restTicks >= REST_TICKS;
    this.#terms.approach = potential - this.#potential;
    this.#terms.main_fuel = action === MAIN ? 1 : 0;
    this.#terms.side_fuel = PUSHES[action] === 0 ? 0 : 1;
    this.#terms.outcome = isLost ? -1 : isLanded ? 1 : 0;
    this.#info.landed = isLanded ? 1 : 0;
    this.#potential = potential;
    this.#result.terminated = isLost || isLanded;
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

  #isSlow(): boolean {
    const vessel = this.#vessel!;
    if (!vessel.isStanding(0) || !vessel.isStanding(1)) return false;
    const { x, y } = vessel.hull.getLinearVelocity();
    return (
      Math.abs(x) < REST_SPEED &&
      Math.abs(y) < REST_SPEED &&
      Math.abs(vessel.hull.getAngularVelocity()) < REST_SPEED
    );
  }

  #observe(observation: Float32Array): void {
    const vessel = this.#vessel!;
    const position = vessel.hull.getPosition();
    const velocity = vessel.hull.getLinearVelocity();
    observation[0] = position.x / HALF_WIDTH;
    observation[1] = (position.y - REST_HEIGHT) / SCALE_HEIGHT;
    observation[2] = velocity.x * SCALE_VELOCITY_X;
    observation[3] = velocity.y * SCALE_VELOCITY_Y;
    observation[4] = vessel.hull.getAngle();
    observation[5] = vessel.hull.getAngularVelocity() * SCALE_SPIN;
    observation[6] = vessel.isStanding(0) ? 1 : 0;
    observation[7] = vessel.isStanding(1) ? 1 : 0;
  }

  /** Random hills, smoothed over three points, with a level stretch around the pad. */
  #shapeGround(random: StartContext["random"]): void {
    for (let i = 0; i < NUM_GROUND_POINTS; i++) this.#hills[i] = HILL * (2 * random() - 1);
    const middle = (NUM_GROUND_POINTS - 1) / 2;
    for (let i = 0; i < NUM_GROUND_POINTS; i++) {
      const before = this.#hills[Math.max(i - 1, 0)];
      const after = this.#hills[Math.min(i + 1, NUM_GROUND_POINTS - 1)];
      this.#ground[i] = Math.abs(i - middle) <= PAD_POINTS ? 0 : (before + this.#hills[i] + after) / 3;
    }
  }
}

/** Nearer, slower, upright and standing is worth more; differences of it sum to what the whole approach was worth. */
function potentialOf(observation: Float32Array): number {
  const distance = Math.hypot(observation[0], observation[1]);
  const speed = Math.hypot(observation[2], observation[3]);
  return -100 * (distance + speed + Math.abs(observation[4])) + 10 * (observation[6] + observation[7]);
}

const ANY = Number.POSITIVE_INFINITY;

export default defineGame({
  id: "Lander-v1",
  tickSeconds: 1 / 50,
  secondsPerStep: 2 / 50,
  maxSeconds: 20,
  observation: box({
    shape: [8],
    low: [-1.5, -1.5, -ANY, -ANY, -ANY, -ANY, 0, 0],
    high: [1.5, 3, ANY, ANY, ANY, ANY, 1, 1],
  }),
  action: discrete(["nothing", "left", "main", "right"]),
  keys: { ArrowLeft: "left", ArrowUp: "main", ArrowRight: "right" },
  idle: "nothing",
  metrics: { landed: "last" },
  rewardTerms: { approach: 1, main_fuel: -0.3, side_fuel: -0.03, outcome: 100 },
  create: () => new Lander(),
});
