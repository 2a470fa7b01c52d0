/** Planted: each update() searches for primes, so that the learner waits for experience. */

import { defineGame } from "attract";
import { Catch, OPTIONS } from "./catch.ts";

class Slow extends Catch {
  primes = 0;

  override update(deltaTime: number, action: number) {
    this.primes = 0;
    for (let number = 2; number < 4000; number++) if (isPrime(number)) this.primes++;
    return super.update(deltaTime, action);
  }
}

function isPrime(number: number) {
  for (let divisor = 2; divisor < number; divisor++) if (number % divisor === 0) return false;
  return true;
}

export default defineGame({ ...OPTIONS, id: "Slow-v1", create: () => new Slow() });
