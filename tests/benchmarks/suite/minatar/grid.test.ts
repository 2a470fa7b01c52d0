/** The games of MinAtar conform, and one action in ten sticks. */

import { expect, test } from "vitest";
import asterix from "../../../../benchmarks/suite/minatar/asterix.ts";
import breakout from "../../../../benchmarks/suite/minatar/breakout.ts";
import freeway from "../../../../benchmarks/suite/minatar/freeway.ts";
import { FIRE, LEFT, RIGHT, StickyActions } from "../../../../benchmarks/suite/minatar/grid.ts";
import seaquest from "../../../../benchmarks/suite/minatar/seaquest.ts";
import spaceInvaders from "../../../../benchmarks/suite/minatar/space-invaders.ts";
import { checkGame } from "../../../../web/check/src/check.ts";
import type { GameDefinition } from "../../../../web/sdk/src/index.ts";
import { drawing } from "./given-draws.ts";

async function conforms(game: GameDefinition, shape: number[]): Promise<void> {
  const report = await checkGame(game, {
    steps: 500,
    now: performance.now.bind(performance),
    heapBytes: () => process.memoryUsage().heapUsed,
  });
  // Actions without effect are MinAtar's: each game has all six.
  expect(report.findings.filter(({ id }) => id !== "action-without-effect")).toEqual([]);
  expect(report.description!.observation).toMatchObject({ shape, dtype: "uint8" });
}

test("breakout conforms", () => conforms(breakout, [10, 10, 4]));

// `make test` has their kind above.
test.each([
  { game: asterix, planes: 4 },
  { game: freeway, planes: 7 },
  { game: seaquest, planes: 10 },
  { game: spaceInvaders, planes: 6 },
])("$game.id conforms", { tags: ["long"] }, ({ game, planes }) => conforms(game, [10, 10, planes]));

test("one action in ten is the last one again", () => {
  const sticky = new StickyActions(drawing(0.5, 0.09, 0.1));
  expect([LEFT, RIGHT, FIRE].map((action) => sticky.next(action))).toEqual([LEFT, LEFT, FIRE]);
});
