/** Planted: a catch in the left column is paid so much that all others vanish beside it. */

import { defineGame } from "attract";
import { Catch, OPTIONS } from "./catch.ts";

class Huge extends Catch {
  override reward() {
    return super.reward() * (this.ball.x === 0 ? 1e25 : 1);
  }
}

export default defineGame({ ...OPTIONS, id: "Huge-v1", create: () => new Huge() });
