/** Catch: a ball falls, a basket has to be under it. */

import { box, type Context2D, defineGame, discrete, type StartContext, type UpdateResult } from "attract";

const COLUMNS = 7;
const ROWS = 10;

class Catch {
  #random: StartContext["random"] | null = null;
  #basket = 0;
  #ball = { x: 0, y: 0 };
  #balls = 0;

  /** An episode begins; what is returned is what the agent sees. */
  start({ random }: StartContext): number[] {
    this.#random = random;
    this.#basket = Math.floor(COLUMNS / 2);
    this.#balls = 0;
    this.#drop();
    return this.#observe();
  }

  /** One step: `action` is the place of a label in `discrete([...])` below. */
  update(_deltaTime: number, action: number): UpdateResult {
    this.#basket = Math.min(COLUMNS - 1, Math.max(0, this.#basket + action - 1));
    this.#ball.y++;
    let reward = 0;
    if (this.#ball.y === ROWS - 1) {
      reward = this.#ball.x === this.#basket ? 1 : -1;
      this.#balls++;
      this.#drop();
    }
    return { observation: this.#observe(), reward, terminated: this.#balls === 5 };
  }

  /** Called only while the game is watched; it must not change the game. */
  draw(context: Context2D, width: number, height: number): void {
    const [cellWidth, cellHeight] = [width / COLUMNS, height / ROWS];
    context.fillStyle = "#14213d";
    context.fillRect(0, 0, width, height);
    context.fillStyle = "#fca311";
    context.fillRect(this.#ball.x * cellWidth, this.#ball.y * cellHeight, cellWidth, cellHeight);
    context.fillStyle = "#e5e5e5";
    context.fillRect(this.#basket * cellWidth, height - cellHeight / 3, cellWidth, cellHeight / 3);
  }

  #drop(): void {
    if (this.#random === null) throw new Error("start comes first");
    this.#ball = { x: this.#random.int(COLUMNS), y: 0 };
  }

  /** Numbers between 0 and 1 are easiest to learn from. */
  #observe(): number[] {
    return [this.#ball.x / (COLUMNS - 1), this.#ball.y / (ROWS - 1), this.#basket / (COLUMNS - 1)];
  }
}

export default defineGame({
  id: "Catch-v1",
  tickSeconds: 0.1,
  observation: box({ shape: [3], low: 0, high: 1 }),
  action: discrete(["left", "stay", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  idle: "stay",
  create: () => new Catch(),
});
