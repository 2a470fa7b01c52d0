import { heapMeter } from "@attract/worker/playtest/drills/heap";
import { expect, test } from "vitest";

const NONE = { performance: {} };

test("what lives is summed up after two collections: in a worker by V8's statistics, in a document by its memory", async () => {
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
  expect(await heapMeter({ ...NONE, gc, getV8Statistics })?.()).toBe(123);
  expect(order).toEqual(["gc", "gc", "read"]);
  expect(await heapMeter({ gc, performance: { memory: { usedJSHeapSize: 77 } } })?.()).toBe(77);
});

test("without the flags there is none", () => {
  expect(heapMeter(NONE)).toBeNull();
  expect(heapMeter({ ...NONE, gc: () => undefined })).toBeNull();
  expect(heapMeter({ performance: { memory: { usedJSHeapSize: 77 } } })).toBeNull();
});
