/** Where the time of a lease goes, and when others must have their turn. */

import { PlayClock } from "@attract/worker/rollout/play-clock";
import { expect, test } from "vitest";

function made() {
  const time = { ms: 0, yields: 0 };
  const clock = new PlayClock(
    () => time.ms,
    () => {
      time.yields++;
      time.ms += 2;
      return Promise.resolve();
    },
  );
  return { time, clock };
}

test("games and policies have their own share of a lease's time, and waiting is what lies between two", () => {
  const { time, clock } = made();
  clock.begin();
  clock.beginGames();
  time.ms = 3;
  clock.isTurnDueAfterGames();
  time.ms = 4;
  clock.isTurnDueAfterPolicies();
  expect(clock.end()).toEqual({
    play_seconds: 0.004,
    inference_seconds: 0.001,
    game_seconds: 0.003,
    wait_seconds: 0,
  });
  time.ms = 10;
  clock.begin();
  time.ms = 11;
  // Nothing is left of the lease before; it ended 6 ms before this one began.
  expect(clock.end()).toEqual({
    play_seconds: 0.001,
    inference_seconds: 0,
    game_seconds: 0,
    wait_seconds: 0.006,
  });
});

test("others have their turn 5 ms after they had it last", async () => {
  const { time, clock } = made();
  clock.begin();
  clock.beginGames();
  time.ms = 4.9;
  expect([clock.isTurnDue(), clock.isTurnDueAfterGames()]).toEqual([false, false]);
  time.ms = 5;
  expect([clock.isTurnDue(), clock.isTurnDueAfterPolicies()]).toEqual([true, true]);
  await clock.yield();
  expect([time.yields, time.ms, clock.isTurnDue()]).toEqual([1, 7, false]);
  time.ms = 12;
  expect(clock.isTurnDue()).toBe(true);
});

test("looks at the clock after ever more games, up to 64, and after ever fewer where they are slow, down to one", () => {
  const { time, clock } = made();
  const chunks: number[] = [];
  const step = (tookMs: number) => {
    clock.beginGames();
    time.ms += tookMs;
    clock.isTurnDueAfterGames();
    chunks.push(clock.chunk);
  };
  for (let i = 0; i < 3; i++) step(0.5);
  for (let i = 0; i < 7; i++) step(0.6);
  expect(chunks).toEqual([32, 64, 64, 32, 16, 8, 4, 2, 1, 1]);
});
