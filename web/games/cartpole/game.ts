/** CartPole with the dynamics of Gymnasium's CartPole-v1: float64 state, Euler steps, float32 observations. */

import {
  box,
  type Context2D,
  defineGame,
  discrete,
  type Out,
  type StartContext,
  type UpdateResult,
} from "attract";
import { drawCartPole } from "./draw.ts";

const GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = 1.1;
/** Half of the pole's length, in metres. */
const HALF_LENGTH = 0.5;
const POLE_MASS_LENGTH = 0.05;
const FORCE = 10;
const POSITION_LIMIT = 2.4;
const ANGLE_LIMIT = (12 * 2 * Math.PI) / 360;
/** Each number of the state starts uniform in [-START_LIMIT, START_LIMIT). */
const START_LIMIT = 0.05;

/** A cart on a rail keeps a pole upright. Source: Barto, Sutton and Anderson 1983, as Gymnasium implements it. */
export class CartPole {
  /** Cart position in metres, its velocity, pole angle in radians from upright, its velocity. */
  readonly state = new Float64Array(4);
  #push = 0;
  /** One object for all ticks: the hot loop allocates nothing. */
  readonly #result = { reward: 1, terminated: false };

  start({ random, out }: StartContext<Float32Array>): void {
    for (let i = 0; i < 4; i++) this.state[i] = -START_LIMIT + 2 * START_LIMIT * random();
    this.#push = 0;
    this.#observe(out);
  }

  update(deltaTime: number, action: number, out: Out<Float32Array>): UpdateResult {
    const { state } = this;
    const force = action === 1 ? FORCE : -FORCE;
    const theta = state[2];
    const thetaVelocity = state[3];
    const cos = Math.cos(theta);
    const sin = Math.sin(theta);
    const pull = (force + POLE_MASS_LENGTH * (thetaVelocity * thetaVelocity) * sin) / TOTAL_MASS;
    const thetaAcceleration =
      (GRAVITY * sin - cos * pull) / (HALF_LENGTH * (4 / 3 - (POLE_MASS * (cos * cos)) / TOTAL_MASS));
    const acceleration = pull - (POLE_MASS_LENGTH * thetaAcceleration * cos) / TOTAL_MASS;
    state[0] += deltaTime * state[1];
    state[1] += deltaTime * acceleration;
    state[2] += deltaTime * thetaVelocity;
    state[3] += deltaTime * thetaAcceleration;
    this.#push = force;
    this.#observe(out);
    const x = state[0];
    const angle = state[2];
    const isFallen = x < -POSITION_LIMIT || x > POSITION_LIMIT || angle < -ANGLE_LIMIT || angle > ANGLE_LIMIT;
    this.#result.terminated = isFallen;
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    drawCartPole(context2d, width, height, this.state[0], this.state[2], this.#push, POSITION_LIMIT);
  }

  #observe(out: Out<Float32Array>): void {
    const { observation } = out;
    const { state } = this;
    observation[0] = state[0];
    observation[1] = state[1];
    observation[2] = state[2];
    observation[3] = state[3];
  }
}

export default defineGame({
  id: "CartPole-v1",
  tickSeconds: 0.02,
  maxSeconds: 10,
  observation: box({
    shape: [4],
    // Twice the limits at which the episode ends; the velocities are unbounded.
    low: [-2 * POSITION_LIMIT, Number.NEGATIVE_INFINITY, -2 * ANGLE_LIMIT, Number.NEGATIVE_INFINITY],
    high: [2 * POSITION_LIMIT, Number.POSITIVE_INFINITY, 2 * ANGLE_LIMIT, Number.POSITIVE_INFINITY],
  }),
  action: discrete(["left", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  create: () => new CartPole(),
});
