import { expect, test } from "vitest";
import {
  type Glance,
  type SightAlarm,
  SightRules,
  type Word,
} from "../../../../web/playtest/src/sight/sight-rules.ts";
import {
  HEIGHT,
  isBlank,
  isFlicker,
  shiftBetween,
  type Thumbnail,
  WIDTH,
} from "../../../../web/playtest/src/sight/thumbnail.ts";
import { type Painter, painted } from "./pictures.ts";

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
        misses: [],
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

const dark: Painter = () => [0, 0, 0];
/** Eight blocks on black, none at the distance of two others. */
const BLOCKS = [3, 11, 17, 28, 33, 41, 52, 58].map((x, i) => [x, (7 * i * i + 5) % 40] as const);
const blocks =
  (across = 0, down = 0): Painter =>
  (x, y) => {
    const i = BLOCKS.findIndex(
      ([u, v]) => x - across >= u && x - across < u + 4 && y - down >= v && y - down < v + 5,
    );
    return i < 0 ? [0, 0, 0] : [90 + 20 * i, 255 - 25 * i, 120];
  };
/** A picture without a ground: no two neighbouring fields of 4 x 4 cells are alike. */
const tiles =
  (across = 0, down = 0): Painter =>
  (x, y) => {
    const [u, v] = [Math.floor((x - across + 400) / 4), Math.floor((y - down + 400) / 4)];
    return [(u * 71 + v * 37) % 256, (u * 29 + v * 101) % 256, (u * 53 + v * 17) % 256];
  };
const veiled =
  (painter: Painter, alpha: number): Painter =>
  (x, y) =>
    painter(x, y).map((value) => value * (1 - alpha) + 255 * alpha) as [number, number, number];

test("one colour is blank, with what no eye can tell; a dot of one cell is not", () => {
  expect(isBlank(painted(() => [200, 200, 200]))).toBe(true);
  expect(isBlank(painted((x, y) => [20 + ((x + y) % 3), 20, 20]))).toBe(true);
  expect(isBlank(painted((x, y) => (x === 30 && y === 20 ? [40, 20, 20] : [20, 20, 20])))).toBe(false);
});

test("a frame without what its neighbours show, or with a picture of its own, is a flicker", () => {
  expect(isFlicker(painted(blocks()), painted(dark), painted(blocks()))).toBe(true);
  // Half of it is gone: 4 blocks of 8.
  const half: Painter = (x, y) => (x < 32 ? [0, 0, 0] : blocks()(x, y));
  expect(isFlicker(painted(blocks()), painted(half), painted(blocks()))).toBe(false);
  expect(isFlicker(painted(blocks()), painted(tiles()), painted(blocks()))).toBe(true);
  expect(isFlicker(painted(tiles()), painted(dark), painted(tiles()))).toBe(true);
  // What changes and stays is another scene.
  expect(isFlicker(painted(blocks()), painted(tiles()), painted(tiles()))).toBe(false);
});

test("a flash, a picture that shakes, a thing that blinks and one that flies by are no flicker", () => {
  for (const painter of [blocks(), tiles()]) {
    expect(isFlicker(painted(painter), painted(veiled(painter, 0.7)), painted(painter))).toBe(false);
  }
  expect(isFlicker(painted(tiles()), painted(tiles(1, -1)), painted(tiles()))).toBe(false);
  const one: Painter = (x, y) => (x >= 20 && x < 24 && y >= 10 && y < 15 ? [255, 255, 255] : [0, 0, 0]);
  // 20 cells.
  expect(isFlicker(painted(one), painted(dark), painted(one))).toBe(false);
  const line: Painter = (x, y) => (x >= 4 && x < 60 && y > 20 && y < 30 ? [255, 255, 255] : [0, 0, 0]);
  // 56 * 9 = 504 of 3,072 cells: a sixth.
  expect(isFlicker(painted(dark), painted(line), painted(dark))).toBe(false);
});

test("a picture that moved as a whole has a shift; less than a tenth, a scene of its own and a single thing have none", () => {
  for (const [across, down] of [
    [9, 2],
    [-8, 0],
    [0, -7],
  ] as const) {
    const [x, y] = shiftBetween(painted(blocks()), painted(blocks(across, down))) ?? [99, 99];
    // To a cell.
    expect([Math.abs(x - across) <= 1, Math.abs(y - down) <= 1]).toEqual([true, true]);
  }
  expect(shiftBetween(painted(blocks()), painted(blocks(4, 3)))).toBe(null);
  expect(shiftBetween(painted(blocks()), painted(tiles()))).toBe(null);
  // Three small things, and two.
  const few = (count: number, across: number): Thumbnail =>
    painted((x, y) =>
      [6, 20, 40]
        .slice(0, count)
        .some((at, i) => x - across >= at && x - across < at + 5 && y >= 9 * i + 3 && y < 9 * i + 7)
        ? [255, 200, 0]
        : [0, 0, 0],
    );
  expect(shiftBetween(few(3, 0), few(3, 10))).not.toBe(null);
  expect(shiftBetween(few(2, 0), few(2, 10))).toBe(null);
  const moved = (by: number): Thumbnail =>
    painted((x, y) => (x >= 40 + by && x < 44 + by && y > 40 ? [255, 0, 255] : blocks()(x, y)));
  expect(shiftBetween(moved(0), moved(12))).toBe(null);
  expect(painted(dark).length).toBe(4 * WIDTH * HEIGHT);
});
