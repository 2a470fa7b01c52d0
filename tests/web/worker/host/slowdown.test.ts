import { slowdown } from "@attract/worker/host/slowdown";
import { expect, test } from "vitest";

test("time between and within pieces of work that is not theirs counts", () => {
  let time = 0;
  // A piece takes one step of this clock; two others pass between it and the next.
  expect(
    slowdown(() => {
      time += 2;
      return time;
    }),
  ).toBeCloseTo(3, 1);
});

test("a thread is never faster than by itself", () => {
  const factor = slowdown();
  expect(factor).toBeGreaterThanOrEqual(1);
  expect(factor).toBeLessThan(1_000);
});
