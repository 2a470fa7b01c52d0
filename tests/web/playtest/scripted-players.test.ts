import { expect, test } from "vitest";
import { PlayerActions } from "../../../web/playtest/src/player-actions.ts";
import { HoldingPlayer, RandomPlayer, StickyPlayer } from "../../../web/playtest/src/scripted-players.ts";
import { actionsOf, evenGame, lineGame } from "../worker/support/playtests.ts";

const SEED = { low: 7, high: 0 };
const GAME = lineGame();

test("one holds its action, or the first that is allowed", () => {
  expect(actionsOf(new HoldingPlayer([4]), GAME)).toEqual(new Array(30).fill([4]));
  expect(actionsOf(new HoldingPlayer([3]), evenGame(), 0, 5)).toEqual(new Array(5).fill([0]));
});

const made = {
  random: () => new RandomPlayer(SEED),
  sticky: () => new StickyPlayer(SEED, new PlayerActions(GAME)),
};

test.each(["random", "sticky"] as const)(
  "%s: an episode is named by its index, whoever played before",
  (name) => {
    const player = made[name]();
    const [first, other, again] = [0, 1, 0].map((index) => actionsOf(player, GAME, index));
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(actionsOf(made[name](), GAME, 1)).toEqual(other);
  },
);

test("two players of one seed draw otherwise", () => {
  expect(actionsOf(made.random(), GAME)[0]).not.toEqual(actionsOf(made.sticky(), GAME)[0]);
});

test("a sticky player keeps its action nine times of ten, a random one once in six", () => {
  const changes = (rows: number[][]) =>
    rows.filter(([action], i) => i > 0 && action !== rows[i - 1][0]).length;
  const total = (name: keyof typeof made) =>
    Array.from({ length: 100 }, (_, index) => changes(actionsOf(made[name](), GAME, index))).reduce(
      (a, b) => a + b,
    );
  // 2,900 pairs: a tenth is drawn anew, a sixth of which stays; of the random ones five of six change.
  expect(total("sticky") / 2900).toBeCloseTo(0.1 * (5 / 6), 1);
  expect(total("random") / 2900).toBeCloseTo(5 / 6, 1);
});

test.each(["random", "sticky"] as const)("%s: does what is allowed alone", (name) => {
  const rows = actionsOf(made[name](), evenGame(), 0, 300).flat();
  expect(new Set(rows)).toEqual(new Set([0, 2, 4]));
});
