import { ServerWatch } from "@attract/worker/connection/server-watch";
import { expect, test } from "vitest";

/** At which seconds it is asked, of those from 1 to `end`, where it never answers. */
function questions(watch: ServerWatch, end: number): number[] {
  const seconds = Array.from({ length: end }, (_, i) => i + 1);
  return seconds.filter((second) => watch.takeQuestion(second * 1000));
}

test("a server that is heard is never asked; a silent one after 10 s, and then every 5 s", () => {
  const heard = new ServerWatch(0);
  for (let second = 1; second <= 60; second++) {
    heard.heard(second * 1000);
    expect(heard.takeQuestion(second * 1000 + 900)).toBe(false);
  }
  expect(questions(new ServerWatch(0), 30)).toEqual([10, 15, 20, 25, 30]);
});

test("scale 01: away after 15 s of silence, and back with the first word, once", () => {
  const watch = new ServerWatch(0);
  expect(watch.isAway(14_999)).toBe(false);
  expect(watch.isAway(15_000)).toBe(true);
  expect(watch.silentSeconds(90_400)).toBe(90);
  expect(watch.heard(90_400)).toBe(true);
  expect(watch.isAway(90_400)).toBe(false);
  expect(watch.heard(90_500)).toBe(false);
});

test("a page with nothing to do is not away as long as its questions are answered", () => {
  const watch = new ServerWatch(0);
  for (let second = 1; second <= 600; second++) {
    if (watch.takeQuestion(second * 1000)) expect(watch.heard(second * 1000 + 300)).toBe(false);
    expect(watch.isAway(second * 1000)).toBe(false);
  }
});
