import { expect, test } from "vitest";
import { FrameWait } from "../../../../web/dashboard/src/game/frame-wait.ts";

test("a game is waited for as long as the page draws", () => {
  const wait = new FrameWait();
  expect(wait.frame(1_000)).toBeNull();
  wait.asked();
  expect(wait.frame(1_016)).toBe(16);
  expect(wait.frame(1_032)).toBe(32);
  wait.answered();
  expect(wait.frame(1_048)).toBeNull();
});

test("a page that is hidden, or starved on a busy machine, does not count the time as the game's", () => {
  const wait = new FrameWait();
  wait.frame(0);
  wait.asked();
  expect(wait.frame(60_000)).toBe(100);
  expect(wait.frame(64_900)).toBe(200);
});
