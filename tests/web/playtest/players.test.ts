/** Players of playtests: by name, by what they do, and what they draw on. */

import type { GameDefinition, StartContext } from "attract/contract";
import { box, dict, discrete, multiDiscrete } from "attract/spaces";
import { expect, test } from "vitest";
import { CoarseView } from "../../../web/playtest/src/coarse-view.ts";
import { NoveltyPlayer } from "../../../web/playtest/src/novelty-player.ts";
import { playEpisode } from "../../../web/playtest/src/play-episode.ts";
import { type Player, PlayerChance } from "../../../web/playtest/src/player.ts";
import { PlayerActions } from "../../../web/playtest/src/player-actions.ts";
import { createPlayer } from "../../../web/playtest/src/players.ts";
import {
  HoldingPlayer,
  RandomPlayer,
  RecordedPlayer,
  StickyPlayer,
} from "../../../web/playtest/src/scripted-players.ts";
import { actionsOf, evenGame, lineGame, orderOf, tableOf } from "../worker/support/playtests.ts";

const SIX_ACTIONS = lineGame(undefined, { action: discrete(6), idle: 3 });
const create = (name: string) => createPlayer(name, orderOf(), SIX_ACTIONS, new PlayerActions(SIX_ACTIONS));

test("idle does the game's idle action, hold-K the K-th held one", async () => {
  expect(actionsOf(await create("idle"), SIX_ACTIONS, 0, 1)).toEqual([[3]]);
  expect(actionsOf(await create("hold-5"), SIX_ACTIONS, 0, 1)).toEqual([[5]]);
});

test.each(["random", "sticky", "novelty"])("%s plays", async (name) => {
  expect(actionsOf(await create(name), SIX_ACTIONS)).toHaveLength(30);
});

test.each([
  ["hold-6", "number 6 of 6 held actions, counted from 0"],
  ["recorded-0", "number 0 of 0 recorded episodes, counted from 0"],
  ["younger:greedy", "there is no policy younger"],
])("%s is refused", async (name, text) => {
  await expect(create(name)).rejects.toThrow(text);
});

const SEED = { low: 7, high: 0 };
const GAME = lineGame();

test("a holding player holds its action, or the first that is allowed", () => {
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

const ORDER = orderOf({ record: true, max_steps: 20 });

async function episodeOf(game = lineGame()) {
  const played = await playEpisode(new RandomPlayer({ low: 9, high: 1 }), 5, ORDER, tableOf(game));
  if (played?.recorded == null) throw new Error("nothing was recorded");
  return played.recorded;
}

test("a recorded player plays the record's actions on the record's streams, whatever the order's seed and index", async () => {
  const game = lineGame();
  const recorded = await episodeOf(game);
  const player = await RecordedPlayer.of(game, recorded);
  const order = orderOf({ record: true, seed: { low: 100, high: 100 } });
  const played = await playEpisode(player, 77, order, tableOf(game));
  expect(played?.recorded).toEqual(recorded);
});

test("where the record ends and the game does not, a recorded player stops", async () => {
  const game = lineGame();
  const player = await RecordedPlayer.of(game, await episodeOf(game));
  const played = await playEpisode(player, 0, orderOf(), tableOf(game));
  expect(played).toMatchObject({ num_steps: 20, end_reason: "stopped" });
});

test("what the build no longer allows gives way", async () => {
  const recorded = await episodeOf();
  const player = await RecordedPlayer.of(evenGame(), recorded);
  const played = await playEpisode(player, 0, orderOf(), tableOf(evenGame()));
  expect(played).toMatchObject({ num_steps: 20, alarms: [] });
});

test("an episode of another game is refused", async () => {
  const other = lineGame(undefined, { id: "Other-v1" });
  await expect(RecordedPlayer.of(other, await episodeOf())).rejects.toThrow(
    "this is an episode of Line-v1, and the game is Other-v1",
  );
});

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

test("novelty gets further than chance, for it does what led elsewhere", () => {
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

test("an episode of novelty is named by its index: what it saw in others is forgotten", () => {
  const game = lineGame();
  const player = new NoveltyPlayer(SEED, game);
  const [first, other, again] = [0, 1, 0].map((index) => actionsOf(player, game, index));
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
});

test("novelty does what is allowed alone", () => {
  const game = evenGame();
  const rows = actionsOf(new NoveltyPlayer(SEED, game), game, 0, 100).flat();
  expect(new Set(rows)).toEqual(new Set([0, 2, 4]));
});

test("novelty sees numbers of a bounded box as alike within an eighth of its range", () => {
  const view = new CoarseView({ observation: box({ shape: [1], low: 0, high: 8 }) });
  expect(view.of(Float32Array.of(3.1))).toBe(view.of(Float32Array.of(3.9)));
  expect(view.of(Float32Array.of(3.1))).not.toBe(view.of(Float32Array.of(4.1)));
});

test("of an unbounded one they are alike within half a doubling", () => {
  const view = new CoarseView({ observation: box({ shape: [1] }) });
  expect(view.of(Float32Array.of(1000))).toBe(view.of(Float32Array.of(1050)));
  expect(view.of(Float32Array.of(1000))).not.toBe(view.of(Float32Array.of(2000)));
  expect(view.of(Float32Array.of(1000))).not.toBe(view.of(Float32Array.of(-1000)));
});

test("choices are told apart, and the entries of a dict", () => {
  const view = new CoarseView({
    observation: dict({ b: discrete(20), a: box({ shape: [1], low: 0, high: 1 }) }),
  });
  const seen = (b: number, a: number) => view.of({ b: Int32Array.of(b), a: Float32Array.of(a) });
  expect(seen(18, 0)).not.toBe(seen(19, 0));
  expect(seen(0, 0)).not.toBe(seen(0, 0.9));
});

test("a large picture is looked at here and there", () => {
  const view = new CoarseView({ observation: box({ shape: [64, 64, 1], dtype: "uint8" }) });
  const picture = new Uint8Array(4096);
  const dark = view.of(picture);
  picture[1] = 255;
  expect(view.of(picture)).toBe(dark);
  picture[16] = 255;
  expect(view.of(picture)).not.toBe(dark);
});

const drawn = (low: number, high: number, player: string, index: number): number => {
  const chance = new PlayerChance({ low, high }, player);
  chance.begin(index);
  return chance.random();
};

test("chance is named by seed, player and index", () => {
  const own = drawn(1, 2, "random", 3);
  expect(drawn(1, 2, "random", 3)).toBe(own);
  for (const other of [
    drawn(2, 2, "random", 3),
    drawn(1, 3, "random", 3),
    drawn(1, 2, "randon", 3),
    drawn(1, 2, "random", 4),
  ])
    expect(other).not.toBe(own);
});

test("an index begins its stream anew", () => {
  const chance = new PlayerChance({ low: 1, high: 2 }, "random");
  chance.begin(3);
  const first = [chance.random(), chance.random()];
  chance.begin(4);
  chance.begin(3);
  expect([chance.random(), chance.random()]).toEqual(first);
});

test("what is forbidden gives way to the first that is allowed, by component and agent", () => {
  const game = lineGame(undefined, { action: multiDiscrete([3, 2]), actionMask: true, numAgents: 2 });
  const actions = new PlayerActions(game);
  actions.masks[0].set([0, 1, 1, 1, 0]);
  actions.masks[1].set([1, 1, 1, 1, 1]);
  for (const agent of [0, 1]) actions.give([9, 9, 0, 1], 1, agent);
  expect([...(actions.row as Int32Array)]).toEqual([1, 0, 0, 1]);
  expect(actions.ofGame).toEqual([Int32Array.of(1, 0), Int32Array.of(0, 1)]);
  expect(actions.allows([0, 1], 0, 0)).toBe(false);
  expect(actions.allows([1, 0], 0, 0)).toBe(true);
  expect(actions.allows([0, 1], 0, 1)).toBe(true);
});

test("only what is allowed is drawn, and an agent that takes no part has zeros", () => {
  const actions = new PlayerActions(evenGame());
  actions.masks[0].set([1, 0, 1, 0, 1, 0]);
  const drawn = new Set<number>();
  for (let i = 0; i < 100; i++) {
    actions.draw(
      0,
      Object.assign(() => (i * 0.61803) % 1, { int: () => 0, normal: () => 0 }),
    );
    drawn.add(actions.row[0]);
  }
  expect([...drawn].sort()).toEqual([0, 2, 4]);
  actions.rest(0);
  expect(actions.ofGame).toBe(0);
});
