import { expect, test } from "vitest";
import { EpisodeAlarms } from "../../../web/playtest/src/alarms.ts";

const PLACE = { step: 3, tick: 7 };
const MODULE = `http://127.0.0.1:41234/games/${"a".repeat(64)}.js:3:5`;

test("one of a text, numbers aside, and at most sixteen", () => {
  const alarms = new EpisodeAlarms();
  alarms.add("error", { text: "odd state 5", stack: null }, PLACE);
  alarms.add("error", { text: "odd state 6", stack: null }, { step: 4, tick: 8 });
  expect(alarms.all).toEqual([{ oracle: "error", text: "odd state 5", stack: null, method: null, ...PLACE }]);
  const letters = "abcdefghijklmnopqrstuvwxyz";
  for (const letter of letters) alarms.add("error", { text: letter, stack: null }, PLACE);
  expect(alarms.all).toHaveLength(16);
  const before = alarms.all;
  alarms.begin();
  alarms.add("error", { text: "odd state 5", stack: null }, PLACE);
  expect(alarms.all).toHaveLength(1);
  expect(before).toHaveLength(16);
});

test("a text has nothing that another run has otherwise", () => {
  const alarms = new EpisodeAlarms();
  const text =
    "at 1795725906332: blob:http://127.0.0.1:41234/0b6f-11: http://localhost:8000/js/a.js:1:2 failed";
  alarms.add("error", { text, stack: null }, PLACE);
  expect(alarms.all[0].text).toBe("at #: blob: js/a.js:1:2 failed");
});

test("a stack has the frames of the game's files: a module by its address, a page's below it", () => {
  const alarms = new EpisodeAlarms();
  const stack = [
    "TypeError: at 1795725906332",
    `    at Bad.fail (${MODULE})`,
    "    at step (http://127.0.0.1:41234/js/game.js?v=1:12:5)",
    "    at http://127.0.0.1:41234/:9:1",
    "    at tick (http://127.0.0.1:41234/.attract/clock.js:1:2)",
    "    at Qs.tick (blob:null/c3919391-6fda:15:14336)",
  ].join("\n");
  alarms.add("error", { text: "t", stack }, PLACE);
  expect(alarms.all[0].stack?.split("\n")).toEqual([
    `    at Bad.fail (${MODULE})`,
    "    at step (js/game.js:12:5)",
    "    at index.html:9:1",
  ]);
  alarms.add("error", { text: "u", stack: "Error\n    at x (blob:null/1:1:1)" }, PLACE);
  expect(alarms.all[1].stack).toBe(null);
});

test("an error that the game failed by is not told of again as its page's", () => {
  const alarms = new EpisodeAlarms();
  alarms.add("error", { text: "update() threw: TypeError: x", stack: null }, PLACE);
  alarms.add("error", { text: "TypeError: x", stack: null }, PLACE);
  alarms.add("error", { text: "x", stack: null }, PLACE);
  alarms.add("error", { text: "TypeError: y", stack: null }, PLACE);
  expect(alarms.all.map(({ text }) => text)).toEqual(["update() threw: TypeError: x", "TypeError: y"]);
});
