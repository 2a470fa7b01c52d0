/** Where first episodes are cut. */

import { cutStep } from "@attract/worker/game/desync";
import { expect, test } from "vitest";

const SEED = { low: 11, high: 22 };

test("E7: a cut lies at any step from the first to the last of the spread, evenly, by seed and instance", () => {
  const counts = new Array<number>(9).fill(0);
  for (let instance = 0; instance < 8000; instance++) counts[cutStep(SEED, instance, 8)]++;
  // 1,000 expected, with a deviation of 30.
  expect(counts[0]).toBe(0);
  for (const count of counts.slice(1)) expect(Math.abs(count - 1000)).toBeLessThan(150);
  expect(cutStep(SEED, 5, 1_000_000)).toBe(cutStep({ ...SEED }, 5, 1_000_000));
  expect(cutStep({ low: 12, high: 22 }, 5, 1_000_000)).not.toBe(cutStep(SEED, 5, 1_000_000));
});

test("E7: without a spread there is no cut", () => {
  expect(cutStep(SEED, 5, 0)).toBe(0);
});
