/** Planted: a small encouragement to keep to the middle has a weight a thousand times that of the catch. */

import { defineGame } from "attract";
import { Catch, OPTIONS } from "./catch.ts";

class Loud extends Catch {
  override update(deltaTime: number, action: number) {
    const { observation, reward, terminated } = super.update(deltaTime, action);
    return { observation, terminated, rewardTerms: { caught: reward, middle: this.basket === 3 ? 1 : 0 } };
  }
}

export default defineGame({
  ...OPTIONS,
  id: "Loud-v1",
  rewardTerms: { caught: 1, middle: 1000 },
  create: () => new Loud(),
});
