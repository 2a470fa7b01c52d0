import { expect, test } from "vitest";
import {
  type Glance,
  type SightAlarm,
  SightRules,
  type Word,
} from "../../../../web/playtest/src/sight/sight-rules.ts";
import { HEIGHT, type Thumbnail, WIDTH } from "../../../../web/playtest/src/sight/thumbnail.ts";
import { painted } from "./pictures.ts";

/** Ticks of 1/60 s. */
const TICK = 1 / 60;
const black = painted(() => [0, 0, 0]);
const white = painted(() => [255, 255, 255]);

/** Ten blocks and, in a corner, one that moves by a cell in four ticks; all of it aside by `across`. */
function scene(tick: number, across = 0): Thumbnail {
  return painted((x, y) => {
    const i = Math.floor((x - across + 640) / 6) % 11;
    if (y > 44) return x === Math.floor(tick / 4) % WIDTH ? [255, 255, 0] : [0, 0, 0];
    return (x - across + 640) % 6 < 3 && y > 3 * i && y < 3 * i + 6
      ? [80 + 15 * i, 250 - 20 * i, 60 * (i % 4)]
      : [0, 0, 0];
  });
}

interface Given {
  pictures: (tick: number) => Thumbnail;
  fields?: (tick: number) => Partial<Glance>;
  ticks?: number;
  episodes?: number;
}

function judged({ pictures, fields = () => ({}), ticks = 400, episodes = 1 }: Given): SightAlarm[] {
  const rules = new SightRules(TICK, 2);
  for (let episode = 0; episode < episodes; episode++) {
    rules.begin();
    for (let tick = 0; tick < ticks; tick++)
      rules.see(tick, {
        picture: pictures(tick),
        isOther: false,
        ticksWithoutInput: 1_000,
        isCalm: true,
        words: null,
        ...fields(tick),
      });
  }
  return rules.alarms();
}

const short = (alarms: SightAlarm[]): string[] => alarms.map(({ oracle, tick }) => `${oracle} ${tick}`);

test("a game that is drawn as it should be raises nothing", () => {
  expect(judged({ pictures: scene })).toEqual([]);
  // It scrolls by a cell in two ticks.
  expect(judged({ pictures: (tick) => scene(tick, tick >> 1) })).toEqual([]);
  expect(judged({ pictures: (tick) => scene(0, tick % 3) })).toEqual([]);
});

test("a second and a half of one colour is blank; a flash, a fade and a beginning are not", () => {
  const blank = (from: number, to: number) => (tick: number) =>
    tick >= from && tick < to ? white : scene(tick);
  expect(short(judged({ pictures: blank(100, 195) }))).toEqual(["blank 100"]);
  expect(judged({ pictures: blank(100, 188) })).toEqual([]);
  expect(judged({ pictures: blank(0, 150) })).toEqual([]);
  expect(short(judged({ pictures: blank(0, 185) }))).toEqual(["blank 0"]);
  // Another part of the page.
  expect(judged({ pictures: blank(100, 260), fields: (tick) => ({ isOther: tick % 80 === 0 }) })).toEqual([]);
});

test("a game that never draws is found once, however many episodes it plays", () => {
  const [one, ...others] = judged({ pictures: () => black, episodes: 3 });
  expect([one.oracle, one.episode, one.tick, others]).toEqual(["blank", 0, 0, []]);
  expect(one.text).toContain("draws nothing");
  // Too little was seen: under three seconds.
  expect(judged({ pictures: () => black, ticks: 100 })).toEqual([]);
});

test("two frames that are not drawn are a flicker, one is not", () => {
  const missing =
    (...ticks: number[]) =>
    (tick: number) =>
      ticks.includes(tick) ? black : scene(tick);
  expect(short(judged({ pictures: missing(50, 170) }))).toEqual(["flicker 50"]);
  expect(judged({ pictures: missing(50) })).toEqual([]);
  expect(judged({ pictures: missing(50), episodes: 2 })).toEqual([]);
  // Drawn at half the rate of the ticks.
  expect(short(judged({ pictures: missing(50, 51, 170, 171) }))).toEqual(["flicker 50"]);
  expect(judged({ pictures: missing(50, 51, 52, 170, 171, 172) })).toEqual([]);
});

test("a picture that jumps is found where nothing is pressed, or where it jumps back", () => {
  const from =
    (first: number, end = 1_000) =>
    (tick: number) =>
      scene(tick, tick >= first && tick < end ? 9 : 0);
  expect(short(judged({ pictures: from(60) }))).toEqual(["jump 60"]);
  // A key was pressed less than a second before.
  expect(judged({ pictures: from(60), fields: () => ({ ticksWithoutInput: 40 }) })).toEqual([]);
  expect(short(judged({ pictures: from(60, 80), fields: () => ({ ticksWithoutInput: 0 }) }))).toEqual([
    "jump 60",
  ]);
  expect(judged({ pictures: from(60, 80), fields: () => ({ isCalm: false }) })).toEqual([]);
  // It moves so every second.
  expect(judged({ pictures: (tick) => scene(0, 9 * Math.floor(tick / 65)) })).toEqual([]);
});

const word = (fields: Partial<Word>): Word => ({
  text: "Score: 7",
  isButton: false,
  left: 600,
  top: 10,
  right: 680,
  bottom: 26,
  beyond: ["right"],
  share: 0.5,
  ...fields,
});
/** Read every six ticks. */
const reading = (words: (tick: number) => Word[]) => (tick: number) => ({
  words: tick % 6 === 0 ? words(tick) : null,
});

test("a text that stays half outside is found once, whatever number it shows; one that moves, or comes in, is not", () => {
  const shown = (words: (tick: number) => Word[], episodes = 1) =>
    judged({ pictures: scene, fields: reading(words), episodes }).map(({ text }) => text);
  const growing = (tick: number): Word[] => [word({ text: `Score: ${tick}`, right: 680 + tick / 10 })];
  expect(shown(growing, 2)).toEqual([
    'the text "Score: 60" is cut off: 50 % of it lie outside the view, beyond the right edge',
  ]);
  expect(shown(() => [word({ share: 0.2 })])).toEqual([]);
  expect(shown((tick) => [word({ left: 600 - tick, right: 680 - tick })])).toEqual([]);
  // Half a second.
  expect(shown((tick) => (tick < 36 ? [word({})] : []))).toEqual([]);
  // Alike, in two places: which is which is not known.
  expect(shown(() => [word({}), word({ top: 100, bottom: 116 })])).toEqual([]);
  expect(shown(() => [word({ isButton: true, text: "Go", share: 1, beyond: ["right", "bottom"] })])).toEqual([
    'the button "Go" lies outside the view, beyond the right and bottom edge',
  ]);
});

test("a picture of which all but the words has gone is blank; a screen with words of its own is not", () => {
  // 20 cells of text.
  const left = painted((x, y) => (x < 20 && y < 1 ? [255, 255, 255] : [0, 0, 0]));
  const pictures = (tick: number) => (tick < 100 ? scene(tick) : left);
  const hud = word({ share: 0 });
  const shown = (words: (tick: number) => Word[]) => short(judged({ pictures, fields: reading(words) }));
  expect(shown(() => [hud])).toEqual(["blank 100"]);
  expect(shown((tick) => [hud, ...(tick > 90 ? [word({ text: "Level 2", share: 0 })] : [])])).toEqual([]);
  expect(shown(() => [])).toEqual([]);
});

test("a picture is small", () => {
  expect(scene(0).length).toBe(4 * WIDTH * HEIGHT);
});
