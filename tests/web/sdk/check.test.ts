/** The conformance kit: it finds each fault in a game made to have just that one. */

import { describe, expect, test } from "vitest";
import { CHECKS, checkGame } from "../../../web/sdk/src/check.ts";
import type { Game, GameDefinition, GameOptions } from "../../../web/sdk/src/contract.ts";
import { defineGame } from "../../../web/sdk/src/define-game.ts";
import { box, discrete } from "../../../web/sdk/src/spaces.ts";
import { countingGame } from "./counting-game.ts";

const METERS = { steps: 2_000, now: () => performance.now() };

/** A sound game of 20 ticks: a walk whose steps are drawn; `change` spoils it. */
function walk(change: Partial<Game> = {}, options: Partial<GameOptions> = {}): GameDefinition {
  return defineGame({
    id: "Walk-v1",
    tickSeconds: 0.1,
    maxSeconds: 100,
    observation: box({ shape: [2], low: -1, high: 1 }),
    action: discrete(["left", "right"]),
    create: () => {
      let place = 0;
      let ticks = 0;
      return {
        start({ random }) {
          place = random() - 0.5;
          ticks = 0;
          return [place, 0];
        },
        update(_deltaTime: number, action: number) {
          ticks++;
          place = Math.max(-1, Math.min(1, place + (action === 0 ? -0.1 : 0.1)));
          return { observation: [place, ticks / 20], reward: -Math.abs(place), terminated: ticks === 20 };
        },
        draw(context) {
          context.fillRect(place, 0, 1, 1);
        },
        ...change,
      } as Game;
    },
    ...options,
  });
}

function found(definition: GameDefinition): string[] {
  return checkGame(definition, METERS).findings.map(
    ({ severity, check, message }) => `${severity} ${check}: ${message}`,
  );
}

test("a sound game has no findings, and its play is measured", () => {
  const report = checkGame(walk(), { ...METERS, heapBytes: () => 0 });
  expect(report.findings).toEqual([]);
  expect(report.isTrainable).toBe(true);
  expect(report.play).toMatchObject({
    steps: 2000,
    ticks: 2000,
    episodes: 100,
    endReasons: { terminated: 100 },
  });
  expect(report.play!.lengthMean).toBe(20);
  expect(report.play!.returnMean).toBeLessThan(0);
  expect(report.play!.microsecondsPerTick).toBeGreaterThan(0);
  expect(report.play!.bytesPerTick).toBe(0);
});

describe("each fault is found, and only it", () => {
  const draw: Game["draw"] = (context) => context.fillRect(0, 0, 1, 1);
  const cases: [string, GameDefinition, RegExp][] = [
    [
      "no end",
      walk({ update: () => ({ observation: [0, 0], reward: 0.5 }) }, { maxSeconds: undefined }),
      /error end: no episode ended within 2000 steps/,
    ],
    [
      "out of bounds",
      walk({ update: () => ({ observation: [0, 1.5], reward: 1, done: true }) }),
      /error bounds: observation\[1\] was 1.5 in step 0, outside its box of -1 to 1/,
    ],
    [
      "out of bounds at a start",
      walk({ start: ({ random }) => ({ observation: [0, random() < 0.5 ? 0 : -2] }) }),
      /error bounds: observation\[1\] was -2 at the start of episode \d, outside its box of -1 to 1/,
    ],
    [
      "Math.random",
      walk({ update: () => ({ observation: [0, Math.random() * 0], reward: 1, done: true }) }),
      /error clock: the game called Math.random \(3?\d{3} times\)/,
    ],
    [
      "Date.now",
      walk({ update: () => ({ observation: [0, Date.now() * 0], reward: 1, done: true }) }),
      /error clock: the game called Date.now/,
    ],
    [
      "new Date",
      walk({ update: () => ({ observation: [0, new Date().getFullYear() * 0], reward: 1, done: true }) }),
      /error clock: the game called new Date\(\)/,
    ],
    [
      "performance",
      walk({ update: () => ({ observation: [0, performance.now() * 0], reward: 1, done: true }) }),
      /error clock: the game called performance.now/,
    ],
    ["one start for all seeds", walk({ start: () => [0, 0] }), /warning variety: two seeds start alike/],
    [
      "one reward",
      walk({ update: () => ({ observation: [0, 0], reward: 1, done: true }) }),
      /warning reward: the reward was 1 in every step/,
    ],
    [
      "a NaN reward",
      walk({ update: () => ({ observation: [0, 0], reward: Number.NaN }) }),
      /error contract: GameError: update\(\) returned reward = NaN/,
    ],
    [
      "draw throws",
      walk({
        draw: () => {
          throw new Error("no image");
        },
      }),
      /error draw: draw\(\) threw: no image/,
    ],
    [
      "draw with NaN",
      walk({ draw: (context) => context.fillRect(Number.NaN, 0, 1, 1) }),
      /error draw: draw\(\) called fillRect\(NaN, 0, 1, 1\)/,
    ],
    ["draw draws nothing", walk({ draw: () => undefined }), /error draw: draw\(\) drew nothing/],
    ["no draw", walk({ draw: undefined }), /warning draw: there is no draw\(\)/],
    [
      "a parameter's end",
      walk(
        {
          draw,
          start: ({ parameters, random }) => {
            if (parameters.size > 5) throw new Error("too big");
            return [random(), 0];
          },
        },
        { parameters: { size: { default: 1, low: 1, high: 9 } } },
      ),
      /error parameters: with size = 9: GameError: start\(\) threw: too big/,
    ],
    [
      "a bad description",
      { ...walk(), tickSeconds: -1 },
      /error description: ConfigurationError: tickSeconds: must be a positive number/,
    ],
  ];
  for (const [name, definition, pattern] of cases) {
    test(name, () => {
      const findings = found(definition);
      expect(
        findings.some((finding) => pattern.test(finding)),
        findings.join("\n"),
      ).toBe(true);
    });
  }

  test("every kind of check has a case here", () => {
    const covered = new Set(cases.map(([, , pattern]) => /^\w+ (\w+)/.exec(pattern.source)![1]));
    expect([...CHECKS].filter((check) => !covered.has(check))).toEqual(["determinism"]);
  });
});

describe("determinism", () => {
  test("a game that remembers its last episode", () => {
    let drift = 0;
    const definition = walk({
      start: ({ random }) => [random() / 2 + drift++ * 1e-3 - Math.floor(drift / 400) * 0.4, 0],
    });
    expect(found(definition).join("\n")).toMatch(
      /error determinism: the same seed and actions played differently in a new game: first at record \d+/,
    );
  });

  test("a game whose episodes leave something behind in it alone", () => {
    const definition = defineGame({
      ...walk(),
      create: () => {
        const game = walk().create();
        const { start } = game;
        let starts = 0;
        game.start = (context) => {
          start.call(game, context);
          return [starts++ > 100 ? 1 : 0, context.random()];
        };
        return game;
      },
    } as GameOptions);
    expect(found(definition).join("\n")).toMatch(/error determinism: .* in the same game, played before/);
  });
});

test("the globals are put back, also after an exception", () => {
  const originals = [Math.random, Date, performance.now];
  checkGame(countingGame({ tickResult: () => ({ reward: Number.NaN }) }), METERS);
  expect([Math.random, Date, performance.now]).toEqual(originals);
});

test("what is no game at all is reported, not thrown", () => {
  expect(checkGame(undefined as never, METERS)).toMatchObject({
    isTrainable: false,
    description: null,
    play: null,
  });
});
