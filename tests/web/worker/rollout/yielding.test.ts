import { Yielder } from "@attract/worker/rollout/yielding";
import { expect, test } from "vitest";

test("awaited microtasks starve the event loop, a yield gives it its turn", async () => {
  const yielder = new Yielder();
  let heard = 0;
  setImmediate(() => {
    heard++;
  });
  for (let i = 0; i < 1000; i++) await Promise.resolve();
  expect(heard).toBe(0);
  for (let i = 0; i < 3; i++) await yielder.yield();
  expect(heard).toBe(1);
  yielder.close();
});

test("yields end in the order they began", async () => {
  const yielder = new Yielder();
  const order: number[] = [];
  await Promise.all([0, 1, 2].map((i) => yielder.yield().then(() => order.push(i))));
  expect(order).toEqual([0, 1, 2]);
  yielder.close();
});
