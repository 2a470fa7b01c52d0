import { ConsoleRelay, consoleText, type LogLevel } from "@attract/worker/game/console-relay";
import { describe, expect, test } from "vitest";

type Line = { level: LogLevel; text: string; dropped: number };

/** A console that remembers, a clock of the test's own, and what was handed on. */
function relay(module = "console-relay.test") {
  const world = { now: 0, sent: [] as Line[], shown: [] as unknown[][], heard: 0 };
  const method = (...args: unknown[]): void => void world.shown.push(args);
  const target = { debug: method, log: method, info: method, warn: method, error: method };
  const made = new ConsoleRelay({
    module,
    now: () => world.now,
    send: (line) => world.sent.push(line as Line),
    heard: () => void world.heard++,
  });
  made.first = 7;
  made.install(target);
  return { world, made, console: target };
}

describe("lines", () => {
  test("are handed on with their level, and shown in the browser's own console", () => {
    const { world, console } = relay();
    console.log("ball at", 3, [1, 2]);
    console.warn("odd");
    expect(world.sent).toEqual([
      { level: "log", text: "ball at 3 [1,2]", dropped: 0 },
      { level: "warn", text: "odd", dropped: 0 },
    ]);
    expect(world.shown).toEqual([["ball at", 3, [1, 2]], ["odd"]]);
    expect(world.heard).toBe(1);
  });

  test("are twenty at once and ten a second after that; the next one says how many were left out", () => {
    const { world, console } = relay();
    for (let i = 0; i < 100; i++) console.log(i);
    expect(world.sent).toHaveLength(20);
    world.now = 100;
    console.log("later");
    console.log("too soon");
    expect(world.sent.at(-1)).toEqual({ level: "log", text: "later", dropped: 80 });
    world.now = 10_000;
    for (let i = 0; i < 100; i++) console.log(i);
    expect(world.sent).toHaveLength(41);
    expect(world.shown).toHaveLength(41);
  });

  test("are those of the first copy, once somebody says whose turn it is", () => {
    const { world, made, console } = relay();
    console.log("nobody says yet");
    made.turn = 8;
    console.log("another copy");
    made.turn = 7;
    console.log("the first copy");
    made.isMuted = true;
    console.log("an evaluation");
    expect(world.sent.map(({ text }) => text)).toEqual(["nobody says yet", "the first copy"]);
    expect(world.sent.every(({ dropped }) => dropped === 0)).toBe(true);
  });

  test("of others than the game go to the console alone", () => {
    const { world, console } = relay("games/0123.js");
    console.error("the inference engine complains");
    expect(world.sent).toEqual([]);
    expect(world.heard).toBe(0);
    expect(world.shown).toEqual([["the inference engine complains"]]);
  });
});

test("anything at all becomes text of bounded length", () => {
  const circle: Record<string, unknown> = { x: Number.NaN };
  circle.self = circle;
  expect(consoleText([circle])).toBe('{"x":"NaN","self":"[seen above]"}');
  expect(consoleText([undefined, null, -0, 1n, Symbol("s")])).toBe("undefined null -0 1 Symbol(s)");
  expect(consoleText([new Float32Array([0.5, 1]), new Map([[1, 2]])])).toBe("[0.5,1] [[1,2]]");
  expect(consoleText([new RangeError("off the board")])).toBe("RangeError: off the board");
  expect(consoleText([new Array(10_000).fill(1)])).toHaveLength(2 * 32 + 1);
  expect(consoleText(["x".repeat(9_999)])).toBe(`${"x".repeat(1_000)}...`);
  const broken = { toJSON: (): unknown => broken.toJSON() };
  expect(consoleText([broken])).toBe("[object Object]");
});
