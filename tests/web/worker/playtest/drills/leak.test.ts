import v8 from "node:v8";
import vm from "node:vm";
import { fitted, isGrowing } from "@attract/worker/playtest/drills/leak";
import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { drilled } from "./drilled.ts";

v8.setFlagsFromString("--expose-gc");
const gc = vm.runInNewContext("gc") as (options: object) => Promise<void>;

/** Bytes in use in this thread; other tests of the same process have threads of their own. */
async function heapBytes(): Promise<number> {
  await gc({ type: "major", execution: "async" });
  return v8.getHeapStatistics().used_heap_size;
}

/** Keeps so many numbers of each step, of each start, or once. */
function hoard({ step = 0, start = 0, once = 0 }): GameDefinition {
  return defineGame({
    id: "Hoard-v1",
    tickSeconds: 0.1,
    maxSeconds: 2,
    observation: box({ shape: [1] }),
    action: discrete(2),
    create: () => {
      const kept: number[][] = [];
      let starts = 0;
      const keep = (count: number): void => {
        if (count > 0) kept.push(Array.from({ length: count }, (_, i) => i + 0.5));
      };
      return {
        start() {
          keep(start);
          if (starts++ === 25) keep(once);
          return [0];
        },
        update() {
          keep(step);
          return { observation: [0], reward: kept.length > 1e9 ? 1 : 0 };
        },
      };
    },
  });
}

test("what is kept of each episode is found, 2 kB or 8 kB; the same game without it is clean, as one that keeps much once", async () => {
  const steps = await drilled("leak", hoard({ step: 50 }), [], { heapBytes });
  // 20 steps of 50 numbers of 8 bytes.
  expect(steps.numbers.bytes_per_episode).toBeGreaterThan(8_000);
  expect(steps.numbers.bytes_per_episode).toBeLessThan(12_000);
  expect(steps.alarms.map(({ oracle }) => oracle)).toEqual(["leak"]);
  expect(steps.alarms[0].text).toMatch(/^the game keeps (8|9|10|11)\.\d kB of each episode/);
  const starts = await drilled("leak", hoard({ start: 300 }), [], { heapBytes });
  expect([starts.alarms.length, starts.recorded]).toEqual([1, [null]]);
  expect(starts.numbers.bytes_per_episode).toBeGreaterThan(2_400);
  expect(starts.numbers.bytes_per_episode).toBeLessThan(4_000);
  for (const clean of [hoard({}), hoard({ once: 50_000 })]) {
    const { alarms, numbers, problem } = await drilled("leak", clean, [], { heapBytes });
    expect([alarms, numbers.episodes, problem]).toEqual([[], 40, null]);
  }
});

test("where the heap is not told, or no time is left, it says so", async () => {
  expect((await drilled("leak", hoard({}), [], { heapBytes: null })).problem).toContain("does not tell");
  const { problem } = await drilled("leak", hoard({}), [], { heapBytes, seconds: 0 });
  expect(problem).toBe("only 0 of 24 episodes were played in the time given");
});

test("growth is a line that is certain and goes on: neither a step, nor noise, nor little", () => {
  const values = (of: (i: number) => number): number[] => Array.from({ length: 40 }, (_, i) => of(i));
  const grows = (of: (i: number) => number): boolean => isGrowing(values(of), fitted(values(of)));
  // 0, 2, 4: all three slopes are 2, all three pairs rise; the variance is 3 * 2 * 11 / 18 = 3.67.
  expect(fitted([0, 2, 4])).toEqual({ slope: 2, deviations: 3 / Math.sqrt(11 / 3) });
  // 0, 100, 2, 3: slopes 100, 1, 1, -98, -48.5, 1; the median is 1; four pairs rise, two fall; the variance is 4 * 3 * 13 / 18 = 8.67.
  expect(fitted([0, 100, 2, 3])).toEqual({ slope: 1, deviations: 2 / Math.sqrt(26 / 3) });
  expect(grows((i) => 4_000 * i)).toBe(true);
  expect(grows((i) => 4_000 * i + 3_000 * (i % 3))).toBe(true);
  expect(grows((i) => 900 * i)).toBe(false);
  expect(grows((i) => (i < 20 ? 0 : 200_000))).toBe(false);
  // A late collection in every tenth episode hides nothing; in every second one nothing is certain.
  expect(grows((i) => 4_000 * i + (i % 10 === 4 ? 300_000 : 0))).toBe(true);
  expect(grows((i) => 1_200 * i + (i % 2) * 200_000)).toBe(false);
});
