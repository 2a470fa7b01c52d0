/** Planted: the first number of the observation is where the ball began to be drawn, and never moves. */

import { defineGame } from "attract";
import { Catch, COLUMNS, OPTIONS, ROWS } from "./catch.ts";

class Stuck extends Catch {
  readonly drawn = { x: 3 };

  override observe() {
    return [this.drawn.x / (COLUMNS - 1), this.ball.y / (ROWS - 1), this.basket / (COLUMNS - 1)];
  }
}

export default defineGame({ ...OPTIONS, id: "Stuck-v1", create: () => new Stuck() });
