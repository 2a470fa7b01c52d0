/** Planted: the reward is computed and never returned. */

import { defineGame } from "attract";
import { Catch, OPTIONS } from "./catch.ts";

class Silent extends Catch {
  score = 0;

  override reward() {
    this.score += super.reward();
    return 0;
  }
}

export default defineGame({ ...OPTIONS, id: "Silent-v1", create: () => new Silent() });
