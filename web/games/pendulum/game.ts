/** Pendulum with the dynamics of Gymnasium's Pendulum-v1: float64 state, semi-implicit Euler steps, float32 observations. */

import { box, type Context2D, defineGame, type Out, type StartContext, type UpdateResult } from "attract";
import { drawPendulum } from "./draw.ts";

const GRAVITY = 10;
const MASS = 1;
const LENGTH = 1;
const MAX_SPEED = 8;
const MAX_TORQUE = 2;
/** The start's angle is uniform in [-pi, pi), its speed in [-START_SPEED, START_SPEED). */
const START_SPEED = 1;

/** A rod on a pivot, to be swung up and held there by a motor too weak to lift it. */
export class Pendulum {
  /** Angle in radians from upright, any number of turns, and radians per second. */
  readonly state = new Float64Array(2);
  #torque = 0;
  /** One object for all ticks: the hot loop allocates nothing. */
  readonly #result = { reward: 0, terminated: false };

  start({ random, out }: StartContext<Float32Array>): void {
    this.state[0] = Math.PI * (2 * random() - 1);
    this.state[1] = START_SPEED * (2 * random() - 1);
    this.#torque = 0;
    this.#observe(out.observation);
  }

  update(deltaTime: number, action: ArrayLike<number>, out: Out<Float32Array>): UpdateResult {
    const { state } = this;
    const angle = state[0];
    const speed = state[1];
    const torque = Math.min(MAX_TORQUE, Math.max(-MAX_TORQUE, action[0]));
    const fromUpright = wrapped(angle);
    this.#result.reward = -(fromUpright ** 2 + 0.1 * speed ** 2 + 0.001 * torque ** 2);
    const acceleration =
      ((3 * GRAVITY) / (2 * LENGTH)) * Math.sin(angle) + (3 / (MASS * LENGTH ** 2)) * torque;
    const newSpeed = Math.min(MAX_SPEED, Math.max(-MAX_SPEED, speed + acceleration * deltaTime));
    state[0] = angle + newSpeed * deltaTime;
    state[1] = newSpeed;
    this.#torque = torque;
    this.#observe(out.observation);
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    drawPendulum(context2d, width, height, this.state[0], this.#torque / MAX_TORQUE);
  }

  #observe(observation: Float32Array): void {
    observation[0] = Math.cos(this.state[0]);
    observation[1] = Math.sin(this.state[0]);
    observation[2] = this.state[1];
  }
}

/** The same angle in [-pi, pi). */
function wrapped(angle: number): number {
  const turn = 2 * Math.PI;
  const rest = (angle + Math.PI) % turn;
  return (rest < 0 ? rest + turn : rest) - Math.PI;
}

export default defineGame({
  id: "Pendulum-v1",
  tickSeconds: 0.05,
  maxSeconds: 10,
  observation: box({ shape: [3], low: [-1, -1, -MAX_SPEED], high: [1, 1, MAX_SPEED] }),
  action: box({ shape: [1], low: -MAX_TORQUE, high: MAX_TORQUE }),
  keys: { ArrowLeft: [MAX_TORQUE], ArrowRight: [-MAX_TORQUE] },
  idle: [0],
  create: () => new Pendulum(),
});
