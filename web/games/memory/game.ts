/** Memory: a lamp lights up on one side; much later, nothing of it in sight, the agent is asked which side it was. */

import {
  box,
  type Context2D,
  defineGame,
  dict,
  discrete,
  type Out,
  type StartContext,
  type UpdateResult,
} from "attract";
import { drawMemory } from "./draw.ts";

/** What the agent sees: both lamps (1 = lit), and whether it is being asked. */
interface Sight extends Record<string, Float32Array> {
  lamps: Float32Array;
  question: Float32Array;
}

/** One lamp and one question, `delay` steps apart. Only the answer counts. */
export class Memory {
  /** The side that was lit: 0 left, 1 right. */
  side = 0;
  /** Steps from the lamp to the question. */
  delay = 40;
  #step = 0;
  #answer = -1;
  /** One set of objects for all ticks: the hot loop allocates nothing. */
  readonly #info = { right: 0 };
  readonly #result = { reward: 0, terminated: false, info: this.#info };

  start({ random, parameters, out }: StartContext<Sight>): void {
    this.side = random.int(2);
    this.delay = Math.round(parameters.delay);
    this.#step = 0;
    this.#answer = -1;
    this.#observe(out.observation);
  }

  update(_deltaTime: number, action: number, out: Out<Sight>): UpdateResult {
    const isAnswer = this.#step === this.delay;
    this.#step++;
    if (isAnswer) this.#answer = action;
    const isRight = isAnswer && action === this.side;
    this.#info.right = isRight ? 1 : 0;
    this.#result.reward = isRight ? 1 : 0;
    this.#result.terminated = isAnswer;
    this.#observe(out.observation);
    return this.#result;
  }

  draw(context2d: Context2D, width: number, height: number): void {
    const lit = this.#step === 0 ? this.side : -1;
    drawMemory(context2d, width, height, lit, this.#step / this.delay, this.#answer, this.side);
  }

  #observe({ lamps, question }: Sight): void {
    lamps[0] = this.#step === 0 && this.side === 0 ? 1 : 0;
    lamps[1] = this.#step === 0 && this.side === 1 ? 1 : 0;
    question[0] = this.#step === this.delay ? 1 : 0;
  }
}

export default defineGame({
  id: "Memory-v1",
  tickSeconds: 0.1,
  observation: dict({
    lamps: box({ low: 0, high: 1, shape: [2] }),
    question: box({ low: 0, high: 1, shape: [1] }),
  }),
  action: discrete(["left", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  parameters: { delay: { default: 40, low: 1, high: 400 } },
  metrics: { right: "last" },
  create: () => new Memory(),
});
