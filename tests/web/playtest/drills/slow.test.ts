import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { drilled } from "./drilled.ts";

/** What the clock of a test says: time passes only where something takes it. */
class Clock {
  ms = 0;
  readonly #perMs: number;
  /** @param perMs how many times it counts in a millisecond. */
  constructor(perMs: number) {
    this.#perMs = perMs;
  }
  readonly now = (): number => Math.floor(this.ms * this.#perMs) / this.#perMs;
}

/** Its ticks of 20 ms take as long as `takes` says, in ms. */
function busy(clock: Clock, takes: (tick: number) => number, secondsPerStep = 0.02): GameDefinition {
  return defineGame({
    id: "Busy-v1",
    tickSeconds: 0.02,
    secondsPerStep,
    maxSeconds: 10,
    observation: box({ shape: [1] }),
    action: discrete(2),
    create: () => {
      let tick = 0;
      return {
        start() {
          tick = 0;
          return [0];
        },
        update() {
          clock.ms += takes(tick++);
          return { observation: [0], reward: 0 };
        },
      };
    },
  });
}

async function run(
  takes: (tick: number) => number,
  secondsPerStep = 0.02,
  seconds = 10_000,
  clockPerMs = 1e9,
) {
  const clock = new Clock(clockPerMs);
  const options = { now: clock.now, yieldTurn: () => Promise.resolve(), seconds };
  return drilled("slow", busy(clock, takes, secondsPerStep), [], options);
}

test("ticks that take longer than their game time are found, with the median", async () => {
  const { alarms, numbers, recorded } = await run(() => 25);
  expect(numbers).toEqual({
    microseconds_per_tick: 25_000,
    p99_tick_microseconds: 25_000,
    long_frames_share: 0,
    ticks: 6_000,
  });
  expect([alarms.length, recorded]).toEqual([1, [null]]);
  expect(alarms[0].text).toBe(
    "a tick takes 25.0 ms in the median, longer than the 20.0 ms of game time it stands for, in each of 3 rounds",
  );
  expect((await run(() => 19)).alarms).toEqual([]);
});

test("long ticks are found where they are more than one in a hundred, within a step of several too", async () => {
  // 61 ms are more than three ticks of 20 ms, 59 are not.
  const [often, rarely] = [
    (tick: number) => Number(tick % 50 === 7),
    (tick: number) => Number(tick % 250 === 7),
  ];
  for (const secondsPerStep of [0.02, 0.1]) {
    const { alarms, numbers } = await run((tick) => 1 + 60.5 * often(tick), secondsPerStep);
    expect([alarms.length, numbers.long_frames_share]).toEqual([1, 0.02]);
    expect(alarms[0].text).toMatch(/^2\.0 % of the ticks take longer than 60 ms, the longest 62 ms/);
    expect((await run((tick) => 1 + 58 * often(tick), secondsPerStep)).alarms).toEqual([]);
    expect((await run((tick) => 1 + 60.5 * rarely(tick), secondsPerStep)).alarms).toEqual([]);
  }
});

test("a tick that is long each time it is played is a hitch, however rare", async () => {
  const { alarms } = await run((tick) => (tick === 300 ? 101 : 1));
  expect(alarms.map(({ text, step }) => [text, step])).toEqual([
    ["a tick takes 101 ms and stands for 20.0 ms of game time, in each of 3 rounds", 300],
  ]);
  expect((await run((tick) => (tick === 300 ? 99 : 1))).alarms).toEqual([]);
  let calls = 0;
  expect((await run(() => (calls++ === 900 ? 500 : 1))).alarms).toEqual([]);
});

test("a machine that is busy in two rounds of three raises nothing", async () => {
  let calls = 0;
  const { alarms, numbers } = await run(() => (calls++ < 12_120 ? 100 : 2));
  expect(calls).toBeGreaterThan(18_000);
  expect([alarms, numbers.microseconds_per_tick]).toEqual([[], 2_000]);
});

test("what a busy machine adds to other ticks in each round is not the game's", async () => {
  let calls = 0;
  // Rounds of 6,060 ticks, warm-up and all: each has every tenth tick slow, at another place.
  const { numbers } = await run(() => ((calls + Math.floor(calls++ / 6_060)) % 10 === 0 ? 50 : 2));
  expect(numbers.microseconds_per_tick).toBe(2_000);
});

test("a clock of tenths of a millisecond measures ticks of hundredths", async () => {
  const { numbers } = await run(() => 0.03, 0.02, 10_000, 10);
  expect(numbers.microseconds_per_tick).toBeCloseTo(30, 0);
});

test("a game is left as it was found, and one that fails or gets no time is a problem", async () => {
  const failing = await run((tick) => {
    if (tick === 60) throw new Error("out of road");
    return 1;
  });
  expect(failing.problem).toContain("out of road");
  // 60 s for three rounds: of ticks of a second, 20 each.
  const { problem } = await run((tick) => (tick < 120 ? 0 : 1_000), 0.02, 60);
  expect(problem).toMatch(/^only \d+ of 100 ticks were played in the time given$/);
});
