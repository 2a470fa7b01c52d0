import { expect, test } from "vitest";
import type { Kind, Place, Value } from "../../../web/page-probe/src/places.ts";
import { readingOf, worthFollowing } from "../../../web/page-probe/src/readings.ts";
import type { Samples } from "../../../web/page-probe/src/trial.ts";

const TICKS = 60;

/** A place called `text`, and what it holds in each frame of each play. */
type Described = [
  text: string,
  values: (tick: number, play: number) => Value,
  kind?: Kind,
  more?: Partial<Place>,
];

function played(described: Described[], ticks: number): Samples[] {
  const places = described.map(([text, , kind = "number", more = {}]): Place => {
    const name = text.split(/\?*\./).at(-1) as string;
    return { text, name, kind, fields: [], isShown: false, read: () => undefined, ...more };
  });
  return [0, 1].map((play) => ({
    places,
    rows: Array.from({ length: ticks }, (_, tick) => described.map(([, values]) => values(tick, play))),
  }));
}

function read(described: Described[], changed: string[] = [], ticks = TICKS) {
  return readingOf(played(described, ticks), new Set(changed), [800, 600]);
}

const DIES = (tick: number) => tick >= 40;

test("the score is what is called so and grows, not the best one and not a clock", () => {
  const { score, scores } = read([
    ["w.game.score", (tick) => Math.floor(tick / 10)],
    ["w.game.bestScore", (tick) => Math.floor(tick / 10)],
    ["w.game.time", (tick) => tick * 17],
    ["w.game.coins", () => 0],
  ]);
  expect(score?.place.text).toBe("w.game.score");
  expect(score?.why).toBe("it grew 10 times in random play");
  expect(scores.map(({ place }) => place.text)).toEqual(["w.game.score", "w.game.coins"]);
});

test("an angle is read by its direction, in radians or degrees; what never turns is none", () => {
  const turned = (step: number) => {
    const { seen } = read([["w.ship.heading", (tick) => step * Math.floor(tick / 2)]], ["w.ship.heading"]);
    return seen.map(({ turn }) => turn);
  };
  expect(turned(0.05)).toEqual([1]);
  expect(turned(3)).toEqual([Math.PI / 180]);
  const { seen } = read([["w.ship.speed", (tick) => tick % 7]]);
  expect(seen.map(({ turn }) => turn)).toEqual([undefined]);
});

test("without a name, what grows now and then is the score; what stands in a list is not", () => {
  const hits = (tick: number) => Math.floor(tick / 20);
  expect(read([["w.game.hits", hits]]).score?.place.text).toBe("w.game.hits");
  expect(read([["w.game.zork", hits]]).score?.place.text).toBe("w.game.zork");
  expect(read([["w.game.stones?.[0]?.score", hits]]).score).toBe(null);
  expect(read([["w.game.zork", (tick) => Math.sin(tick)]]).score).toBe(null);
  // A direction that a player now and then turns: 0, 1, 0, -1.
  expect(read([["w.snake.zork", (tick) => [0, 1, 0, -1][Math.floor(tick / 15)]]]).score).toBe(null);
});

test("where nothing counts, what grows with each success is the score: a snake's body, and no list of what comes anyway", () => {
  const body = (tick: number): number[] => [Math.floor(tick / 25), ...new Array(8).fill(0)];
  const read1 = (text: string, kind: Kind = "list"): string | undefined =>
    read([[text, body, kind]]).score?.place.text;
  expect(read1("w.snakeBody")).toBe("w.snakeBody.length");
  expect(read1("w.game?.tail", "grid")).toBe("w.game?.tail?.length");
  expect(read1("w.stars")).toBe(undefined);
  const counted = read([
    ["w.snakeBody", body, "list"],
    ["w.zork", (tick) => Math.floor(tick / 25)],
  ]);
  expect(counted.score?.place.text).toBe("w.zork");
});

test("whose turn it is goes to and fro, and is no score", () => {
  const turn = (tick: number): number => 1 + (Math.floor(tick / 5) % 2);
  const shown = { isShown: true };
  expect(read([["#current-player", turn, "number", shown]]).score).toBe(null);
  // A game that restarts after a point or two is another case.
  expect(read([["#points", (tick) => Math.floor((tick % 30) / 10), "number", shown]]).score?.place.text).toBe(
    "#points",
  );
});

test("what one brick is worth goes up and down: the score of the game begins with nothing", () => {
  const { score } = read([
    ["w.brick.score", (tick) => [50, 40, 60, 50, 70][Math.floor(tick / 12)]],
    ["w.Game.current.score.score", (tick) => 10 * Math.floor(tick / 20)],
  ]);
  expect(score?.place.text).toBe("w.Game.current.score.score");
});

test("a game that restarts by itself ends where its score falls to its first value", () => {
  const { end } = read([["w.game.steps.score", (tick) => Math.floor((tick % 40) / 10)]]);
  expect(end?.text).toBe("fell(w, Number(w.game.steps.score ?? 0))");
  // Only where nothing tells of the end.
  expect(
    read([
      ["w.score", (tick) => tick % 40],
      ["w.isOver", DIES, "truth"],
    ]).end?.text,
  ).toBe("Boolean(w.isOver)");
  expect(read([["w.score", (tick) => tick]]).end).toBe(null);
});

test("a game that scores on was not over: its introduction was", () => {
  const introduced: Described[] = [
    ["w.runner.distanceRan", (tick) => tick],
    ["w.runner.playingIntro", (tick) => tick < 20, "truth"],
  ];
  expect(read(introduced).end).toBe(null);
  const crashes: Described = ["w.runner.crashed", () => false, "truth"];
  expect(read([...introduced, crashes]).end?.text).toBe("Boolean(w.runner.crashed)");
  // What was scored is counted up to its end.
  const counted: Described = ["w.runner.score", (tick) => Math.min(tick, 45)];
  expect(read([counted, introduced[1]]).end?.text).toBe("!w.runner.playingIntro");
});

test("to leave the menu is no end, to leave the game is one", () => {
  const from = (first: string, then: string) =>
    read([["w.game.current", (tick) => (tick < 20 ? first : then), "word"]]).end;
  expect(from("menu", "game")).toBe(null);
  expect(from("game", "menu")?.text).toBe('w.game.current !== "game"');
});

test("of a stack that holds one thing its parts are seen; of a list of several its rows", () => {
  const listed = (count: number) =>
    read([
      ["w.stack", (tick) => [count, ...Array(count).fill(tick)], "list", { fields: ["level"] }],
      ["w.stack?.[0]?.ship?.x", (tick) => Math.sin(tick)],
    ]).seen.map(({ place }) => place.text);
  expect(listed(1)).toEqual(["w.stack?.[0]?.ship?.x"]);
  expect(listed(2)).toEqual(["w.stack"]);
});

test.each<[string, Described, string]>([
  ["a truth", ["w.game.isOver", DIES, "truth"], "Boolean(w.game.isOver)"],
  ["a truth turned round", ["w.playing", (tick) => tick < 40, "truth"], "!w.playing"],
  ["a name that no end is called by as a rule", ["w.lose", DIES, "truth"], "Boolean(w.lose)"],
  ["a word", ["w.state", (tick) => (tick < 40 ? "play" : "gameover"), "word"], 'w.state === "gameover"'],
  ["another word", ["w.state", (tick) => (tick < 40 ? "play" : "title"), "word"], 'w.state !== "play"'],
  ["lives", ["w.lives", (tick) => 3 - Math.floor(tick / 15)], "w.lives <= 0"],
  ["time that is shown", ["left", (tick) => 40 - tick, "number", { isShown: true }], "left <= 0"],
])("the end may be %s", (_name, described, text) => {
  const { end } = read([described]);
  expect(end?.text).toBe(text);
  const [, values] = described;
  expect([end?.isOver(values(0, 0)), end?.isOver(values(59, 0))]).toEqual([false, true]);
});

test("names that only contain an end are none", () => {
  expect(read([["w.shape.closePath", DIES, "truth"]]).end).toBe(null);
  expect(read([["w.body.left", (tick) => 40 - tick]]).end).toBe(null);
});

test("an agent sees what moves or differs between games, once each, and what a player moves first", () => {
  const { seen } = read(
    [
      ["w.wind", (_tick, play) => play],
      ["w.ship.x", (tick) => 10 * tick],
      ["w.ship.copy", (tick) => 10 * tick],
      ["w.gravity", () => 9.81],
      ["w.keys.left", (tick) => tick % 2 === 0, "truth"],
      ["w.lastTime", (tick) => 17 * tick],
      ["w.title", (tick) => String(tick), "word"],
      ["picture", (tick) => tick % 7],
    ],
    ["w.ship.x"],
  );
  expect(seen.map(({ place }) => place.text)).toEqual(["w.ship.x", "w.wind"]);
  // By the window's width, as it is a place.
  expect(seen[0].scales).toEqual([800]);
});

test("of lists the fields that differ are seen, of grids every cell", () => {
  const stones = (tick: number) => (tick < 10 ? [0] : [2, 100, tick, 5, 300, 2 * tick, 5]);
  const { seen } = read([
    ["w.stones", stones, "list", { fields: ["x", "y", "size"] }],
    ["w.stones?.[0]?.y", (tick) => (tick < 10 ? undefined : tick)],
    ["w.board", (tick) => [2, 3, 0, tick % 2, 0, 0, 0, 1], "grid"],
  ]);
  expect(seen.map(({ place, fields, count }) => [place.text, fields, count])).toEqual([
    ["w.stones", ["x", "y"], 2],
    ["w.board", ["2", "3"], 6],
  ]);
});

test("what is worth following is what changed, and what is called as if it mattered", () => {
  const dull: Described[] = Array.from({ length: 700 }, (_, i) => [`w.engine.n${i}`, () => i]);
  const [samples] = played([...dull, ["w.ship.x", (tick) => tick], ["w.score", () => 0]], TICKS);
  const followed = worthFollowing(samples).map(({ text }) => text);
  expect(followed).toEqual(expect.arrayContaining(["w.score", "w.ship.x"]));
  expect(followed.length).toBeLessThan(110);
});

test("what is near and stayed where it was in the first play, such as a goal, is followed too", () => {
  const far: Described[] = Array.from({ length: 700 }, (_, i) => [`w.engine.n${i}`, () => i]);
  const lively: Described[] = Array.from({ length: 700 }, (_, i) => [`w.fx.n${i}`, (tick) => tick]);
  const [samples] = played([...far, ...lively, ["w.food.x", () => 7], ["w.says", () => "a", "word"]], TICKS);
  const followed = worthFollowing(samples).map(({ text }) => text);
  expect(followed).toContain("w.food.x");
  expect(followed).not.toContain("w.says");
});

test("a state that is a number is over where most plays end in one that they did not begin in", () => {
  const states = (tick: number) => (DIES(tick) ? 2 : 1);
  expect(read([["w.currentState", states]]).end).toMatchObject({ text: "w.currentState === 2" });
  // One that comes and goes, one that does not end, and one that is no state by its name.
  const text = (values: Described[1], name = "w.currentState") => read([[name, values]]).end?.text;
  expect(text((tick) => (tick % 20 > 10 ? 2 : 1))).not.toBe("w.currentState === 2");
  expect(text(() => 1)).toBeUndefined();
  expect(text((tick) => tick)).toBeUndefined();
  expect(text(states, "w.gear")).toBeUndefined();
});

test("words that the scripts have ready are an end, said or not; what is said at once is none", () => {
  const quoted = { isQuoted: true, isShown: true };
  const said = (values: (tick: number) => boolean) => read([["says(w)", values, "truth", quoted]]);
  expect(said(DIES).end).toMatchObject({ text: "says(w)", why: "it occurred in random play" });
  expect(said(DIES).seen).toEqual([]);
  expect(said(() => false).end?.why).toBe("the page contains these words; they did not occur in random play");
  expect(said(() => true).end).toBe(null);
  const { end } = read([
    ["w.game.isOver", DIES, "truth"],
    ["says(w)", DIES, "truth", quoted],
  ]);
  expect(end?.text).toBe("Boolean(w.game.isOver)");
});

test("all marks of a board are seen, before a grid of the page's own", () => {
  const grid = (text: string): Described => [text, (tick) => [2, 1, tick % 2, 1], "grid", { isShown: true }];
  const marks = ["a", "b", "c", "d"].map((mark) => grid(`marked(w, ".grid > *", ".${mark}")`));
  marks.forEach((one, i) => {
    one[1] = (tick) => [2, 1, Number(tick % (i + 2) === 0), 1];
  });
  expect(read(marks).seen.map(({ place }) => place.text)).toEqual(marks.map(([text]) => text));
});

test("a game that was seen to restart ends there, and not by words in its page", () => {
  const { end } = read([
    ["w.game.score", (tick) => Math.floor((tick % 30) / 10)],
    ["says(w)", () => false, "truth", { isQuoted: true, isShown: true }],
  ]);
  expect(end?.text).toBe("fell(w, Number(w.game.score ?? 0))");
});

test("of a large board so many marks are seen as an agent can be given", () => {
  const cells = Array.from({ length: 784 }, () => 0);
  const marks = Array.from({ length: 9 }, (_, i): Described => {
    const text = `marked(w, ".grid > *", ".${"abcdefghi"[i]}")`;
    return [
      text,
      (tick) => [784, 1, Number(tick % (i + 2) === 0), ...cells.slice(1)],
      "grid",
      { isShown: true },
    ];
  });
  const { seen } = read(marks);
  expect(seen.map(({ count }) => count)).toEqual([784, 784, 784, 784, 784]);
});

test("a name that only hints is no score where it stays as it is", () => {
  const { score, scores } = read([["w.drawDistance", () => 300]]);
  expect([score, scores.map(({ place }) => place.text)]).toEqual([null, ["w.drawDistance"]]);
  expect(read([["w.score", () => 0]]).score?.place.text).toBe("w.score");
});

test("a game that says nothing of its end has come to it where nothing moves any more, unless it pauses for as long", () => {
  const play = (ends: number, pause = 6): Described[] => [
    ["w.head.x", (tick, i) => Math.floor(Math.min(tick, ends + i) / pause)],
    ["w.clock", (tick) => tick],
    ["w.kept", () => 1],
  ];
  expect(read(play(100), [], 600).end?.text).toBe("stands(w, [w.head.x], 60)");
  expect(read(play(300, 50), [], 700).end?.text).toBe("stands(w, [w.head.x], 98)");
  expect(read(play(400), [], 600).end).toBe(null);
  expect(read(play(2400, 200), [], 3000).end).toBe(null);
  // What says so is better than that.
  expect(read([...play(100), ["w.over", (tick) => tick > 105, "truth"]], [], 600).end?.text).toBe(
    "Boolean(w.over)",
  );
});

test("lives refilled without running out show that another game has begun; a life that is won does not", () => {
  const refilled = read([["w.lives", (tick) => 3 - (Math.floor(tick / 10) % 3)]]).end;
  expect(refilled?.text).toBe("fell(w, -Number(w.lives ?? 0))");
  const won = read([["w.lives", (tick) => [3, 2, 3, 2, 1, 2][Math.floor(tick / 10)]]]).end;
  expect(won?.text).toBe("w.lives <= 0");
});

test("a score that has grown a little by the time that it is seen is back where it began, and one that was fined is not", () => {
  const hardly = read([["w.score", (tick) => (tick < 20 ? 1 + tick / 10 : (tick - 19) / 10)]]).end;
  expect(hardly).toBe(null);
  const grown = read([["w.score", (tick) => (tick < 50 ? 1 + tick / 5 : (tick - 49) / 10)]]).end;
  expect(grown?.text).toBe("fell(w, Number(w.score ?? 0))");
  const fined = read([["w.score", (tick) => (tick < 50 ? 1 + tick / 5 : -1)]]).end;
  expect(fined).toBe(null);
});

test("how often a player has moved is no score", () => {
  const rarely = (tick: number) => Math.floor(tick / 20);
  for (const name of ["moves", "num_clicks", "attempts", "moveCount", "turns", "movesNum", "moves_made"])
    expect(read([[`w.${name}`, rarely]]).score).toBe(null);
});

test("a game that was over before it was looked at is over whenever it is so again", () => {
  const scene = (tick: number): string => (tick < 5 || tick > 40 ? "lose" : "game");
  expect(read([["w.scene", scene, "word"]]).end?.text).toBe('w.scene === "lose"');
  expect(read([["w.scene", (tick) => (tick < 5 ? "lose" : "game"), "word"]]).end?.text).toBe(
    'w.scene !== "lose"',
  );
});
