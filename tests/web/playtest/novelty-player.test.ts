import type { GameDefinition, StartContext } from "attract/contract";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { NoveltyPlayer } from "../../../web/playtest/src/novelty-player.ts";
import type { Player } from "../../../web/playtest/src/player.ts";
import { RandomPlayer } from "../../../web/playtest/src/scripted-players.ts";
import { actionsOf, evenGame, lineGame } from "../worker/support/playtests.ts";

const SEED = { low: 7, high: 0 };

/** A corridor of eight parts, each of five steps: action 1 goes on, 0 goes back, the others stay. */
function corridor(seen: Set<number>) {
  return lineGame(undefined, {
    observation: box({ shape: [1], low: 0, high: 8 }),
    action: discrete(6),
    create: () => {
      let place = 0;
      return {
        start: (_: StartContext) => {
          place = 0;
          return [place];
        },
        update: (_: number, action: number) => {
          place = Math.max(0, Math.min(7.9, place + (action === 1 ? 0.2 : action === 0 ? -0.2 : 0)));
          seen.add(Math.floor(place));
          return { observation: [place], reward: 0, terminated: false };
        },
      } as never;
    },
  });
}

test("it gets further than chance, for it does what led elsewhere", () => {
  const reached = (create: (game: GameDefinition) => Player): number => {
    let total = 0;
    for (let index = 0; index < 20; index++) {
      const seen = new Set<number>();
      const game = corridor(seen);
      actionsOf(create(game), game, index, 300);
      total += seen.size;
    }
    return total / 20;
  };
  const novelty = reached((game) => new NoveltyPlayer(SEED, game));
  expect(novelty).toBeGreaterThan(1.3 * reached(() => new RandomPlayer(SEED)));
});

test("an episode is named by its index: what it saw in others is forgotten", () => {
  const game = lineGame();
  const player = new NoveltyPlayer(SEED, game);
  const [first, other, again] = [0, 1, 0].map((index) => actionsOf(player, game, index));
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
});

test("it does what is allowed alone", () => {
  const game = evenGame();
  const rows = actionsOf(new NoveltyPlayer(SEED, game), game, 0, 100).flat();
  expect(new Set(rows)).toEqual(new Set([0, 2, 4]));
});
