import { afterEach, expect, test } from "vitest";
import { createInstance } from "../../../../web/sdk/src/group-instance.ts";
import { PageFrames } from "../../../../web/worker/src/page/page-frames.ts";
import { hop, numFrames } from "./hop-page.ts";

const opened: PageFrames[] = [];

afterEach(() => {
  for (const frames of opened.splice(0)) frames.close();
});

function framesOf(definition = hop(), isFresh = false): PageFrames {
  const frames = new PageFrames(definition, { base: location.href, most: 2, isFresh });
  opened.push(frames);
  return frames;
}

test("one is kept ready, and who needs none does not wait", async () => {
  const frames = framesOf();
  await frames.spare();
  expect(frames.spare()).toBe(null);
  const instance = createInstance(frames.definition);
  expect(numFrames()).toBe(1);
  instance.start(0);
  // The next is under way.
  await frames.spare();
  expect(numFrames()).toBe(2);
  instance.start(1);
  expect(frames.spare()).toBe(null);
  frames.close();
  expect(numFrames()).toBe(0);
});

test("a page whose game can begin anew is played in again, one that broke is not", async () => {
  const frames = framesOf();
  await frames.spare();
  const first = frames.take();
  await frames.spare();
  frames.giveBack(first, true);
  expect(frames.take()).toBe(first);
  const before = numFrames();
  frames.giveBack(first, false);
  expect(numFrames()).toBe(before - 1);
});

test("with a fresh page for each episode none is played in twice", async () => {
  const frames = framesOf(hop(), true);
  await frames.spare();
  const instance = createInstance(frames.definition);
  instance.start(0);
  await frames.spare();
  const before = numFrames();
  instance.start(1);
  expect(numFrames()).toBeLessThanOrEqual(before);
  await frames.spare();
  instance.game.dispose?.();
});

test("a page that cannot be played in rejects, with its last error", async () => {
  const frames = framesOf(hop({ ready: () => false }, ""));
  await expect(frames.spare()).rejects.toThrow("ready() was still false after 2000 frames");
  expect(numFrames()).toBe(0);
});

test("nobody takes what is not there", () => {
  expect(() => framesOf().take()).toThrow("await spare() first");
});
