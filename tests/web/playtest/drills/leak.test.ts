import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { fitted, isGrowing } from "../../../../web/playtest/src/drills/leak.ts";
import { drilled } from "./drilled.ts";

/** Keeps so many bytes of each step, of each start, or of one start; `heapBytes` measures them, with the noise of a real heap. */
function hoard({ step = 0, start = 0, once = 0, until = Number.POSITIVE_INFINITY }) {
  let [kept, starts, reads] = [1e6, 0, 0];
  const game = defineGame({
    id: "Hoard-v1",
    tickSeconds: 0.1,
    maxSeconds: 2,
    observation: box({ shape: [1] }),
    action: discrete(2),
    create: () => ({
      start() {
        starts++;
        if (starts < until) kept += start;
        if (starts === 280) kept += once;
        return [0];
      },
      update() {
        kept += step;
        return { observation: [0], reward: 0 };
      },
    }),
  });
  const heapBytes = async (): Promise<number> =>
    kept + (reads++ % 7) * 200 + (reads % 12 === 0 ? 300_000 : 0);
  return { game, heapBytes };
}

async function run(fields: Parameters<typeof hoard>[0], seconds = 60) {
  const { game, heapBytes } = hoard(fields);
  return drilled("leak", game, [], { heapBytes, seconds });
}

test("what is kept of each episode is found, 2 kB or 8 kB, and what is kept of each step", async () => {
  const starts = await run({ start: 2_000 });
  expect([starts.alarms.length, starts.recorded, starts.problem]).toEqual([1, [null], null]);
  // 20 steps an episode, so ten of them to a reading.
  expect(starts.numbers.episodes).toBe(1200);
  expect(Math.abs(starts.numbers.bytes_per_episode - 2_000)).toBeLessThan(100);
  expect((await run({ start: 8_000 })).alarms[0].text).toMatch(
    /^the game keeps 8\.0 kB of each episode: after a garbage collection its heap grew by \d+ kB over 1200 episodes$/,
  );
  expect((await run({ step: 200 })).alarms[0].text).toContain("keeps 4.0 kB");
});

test("what is kept once, up to some episode, or next to nothing is no leak", async () => {
  for (const fields of [
    {},
    { once: 500_000 },
    { start: 40 },
    { start: 4_000, until: 460 },
    { start: 4_000, until: 120 },
    { start: 4_000, until: 800 },
  ])
    expect((await run(fields)).alarms).toEqual([]);
});

test("where the heap is not told, or no time is left, it says so", async () => {
  expect((await drilled("leak", hoard({}).game, [], { heapBytes: null })).problem).toContain("does not tell");
  // This thread was not started so that it tells.
  expect((await drilled("leak", hoard({}).game)).problem).toContain("does not tell");
  const { problem } = await run({}, 0);
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
  // A step is none, even if all lies higher from then on.
  expect(grows((i) => (i < 20 ? 0 : 200_000) + 10 * i)).toBe(false);
  // A late collection in every tenth episode hides nothing; in every second one nothing is certain.
  expect(grows((i) => 4_000 * i + (i % 10 === 4 ? 300_000 : 0))).toBe(true);
  expect(grows((i) => 1_200 * i + (i % 2) * 200_000)).toBe(false);
});
