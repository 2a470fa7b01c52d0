/**
 * The suite's games conform, and their simple strategies are worth what `measured.json` says.
 *
 * `npx vitest run tests/benchmarks/suite/strategies.test.ts -u` measures again and writes that file: bars are computed from it.
 */

import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { type SimpleStrategy, strategies } from "../../../benchmarks/suite/strategies.ts";
import { checkGame } from "../../../web/check/src/check.ts";
import type { GameDefinition } from "../../../web/sdk/src/contract.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";
import type { Instance } from "../../../web/sdk/src/instance.ts";
import { createSequentialRandom } from "../../../web/sdk/src/random.ts";
import { drawActions, RandomPlayer } from "../../../web/sdk/src/random-play.ts";

const EPISODES = 200;
const SEED = 12;
const FOLDER = new URL("../../../benchmarks/suite", import.meta.url);
const MEASURED = "../../../benchmarks/suite/measured.json";

const names = Object.keys(strategies);
const games: Record<string, GameDefinition> = {};
for (const name of [...names, "duel-against-strategy"])
  games[name] = (
    (await import(`../../../benchmarks/suite/${name}.ts`)) as { default: GameDefinition }
  ).default;

test.each(names)("%s can be trained, watched and played by hand", async (name) => {
  const report = await checkGame(games[name], {
    steps: 2_000,
    now: performance.now.bind(performance),
    heapBytes: () => process.memoryUsage().heapUsed,
  });
  // A warning is right where every step pays the same, and where nothing is found at random.
  expect(report.findings.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(report.play!.episodes).toBeGreaterThan(1);
  expect(report.description!.has_draw).toBe(true);
  expect(Object.keys(report.description!.keys).length).toBeGreaterThan(1);
});

test("every game has a strategy, and every strategy a game", () => {
  const helpers = ["duel-against-strategy", "scaled", "strategies"];
  const files = readdirSync(FOLDER)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.replace(".ts", ""))
    .sort();
  expect(files.filter((file) => !helpers.includes(file))).toEqual([...names].sort());
});

test("random play and the simple strategies are worth what measured.json says", {
  tags: ["long"],
}, async () => {
  const measured = Object.fromEntries(
    names.map((name) => {
      // The mean over both agents of a duel has no meaning: one of them is played by the strategy.
      const game = games[name === "duel" ? "duel-against-strategy" : name];
      return [
        name,
        {
          strategy: strategies[name].says,
          episodes: EPISODES,
          random: meanReturn(game),
          simple: meanReturn(game, strategies[name]),
        },
      ];
    }),
  );
  await expect(`${JSON.stringify(measured, null, 2)}\n`).toMatchFileSnapshot(MEASURED);
});

/** Mean return of random play, or of a strategy, to three digits. */
function meanReturn(game: GameDefinition, strategy?: SimpleStrategy): number {
  const instance = createInstance(game, { seedLow: SEED });
  const player = new RandomPlayer(game.action, SEED);
  const stream = createSequentialRandom(SEED);
  let sum = 0;
  for (let episode = 0; episode < EPISODES; episode++) {
    stream.reset(SEED, 0, episode, 0);
    const choose = strategy?.create(stream.random);
    instance.start(episode);
    while (!instance.episodeOver)
      instance.step(
        (choose?.(seenBy(instance), instance.masks[0]) ?? drawActions(instance, player)) as never,
      );
    sum += instance.episodeReturns[0];
  }
  return Number((sum / EPISODES).toFixed(3));
}

function seenBy(instance: Instance): ArrayLike<number> {
  return instance.views[0] as Float32Array;
}
