import { expect, test } from "vitest";
import { heapMeter } from "../../../../web/playtest/src/drills/heap.ts";

test("what lives is summed up after two collections, with what arrays hold outside of the heap", async () => {
  const order: string[] = [];
  const gc = (): void => void order.push("gc");
  const getV8Statistics = () => {
    order.push("read");
    return {
      old_space_live_bytes: 100,
      new_space_live_bytes: 20,
      old_space_available_bytes: 4_000,
      amount_of_external_allocated_memory: 3,
    };
  };
  expect(await heapMeter({ gc, getV8Statistics })?.()).toBe(123);
  expect(order).toEqual(["gc", "gc", "read"]);
});

test("without the flags there is none", () => {
  expect(heapMeter({})).toBeNull();
  expect(heapMeter({ gc: () => undefined })).toBeNull();
  expect(heapMeter({ getV8Statistics: () => ({}) })).toBeNull();
});
