import { EpisodeScript } from "@attract/worker/episode/episode-script";
import { replayEpisode } from "@attract/worker/episode/replay-episode";
import { LateError } from "@attract/worker/page/page-frame";
import type { GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import { expect, test } from "vitest";
import { GameCopies } from "../../../web/playtest/src/game-copies.ts";
import { type EpisodeTable, type Played, playEpisode } from "../../../web/playtest/src/play-episode.ts";
import type { Player } from "../../../web/playtest/src/player.ts";
import { PlayerActions } from "../../../web/playtest/src/player-actions.ts";
import { HoldingPlayer, RandomPlayer } from "../../../web/playtest/src/scripted-players.ts";
import { ThreadErrors } from "../../../web/playtest/src/thread-errors.ts";
import { lineGame, orderOf, tableOf } from "../worker/support/playtests.ts";

const SEED = { low: 7, high: 0 };

async function played(
  game: GameDefinition,
  player: Player,
  order = orderOf(),
  table: Partial<EpisodeTable> = {},
  index = 0,
): Promise<Played> {
  const episode = await playEpisode(player, index, order, tableOf(game, table));
  if (episode === null) throw new Error("the episode was given up");
  return episode;
}

/** Whether what was recorded is what plays again. */
async function replays(game: GameDefinition, { recorded }: Played): Promise<boolean> {
  if (recorded === null) throw new Error("nothing was recorded");
  const options = { definition: game, yieldTurn: async () => undefined, now: () => 0 };
  return (await replayEpisode(await EpisodeScript.of(game, recorded), options)).equal;
}

test("an episode's outcome: its return, its steps, its end and its metrics", async () => {
  const episode = await played(lineGame(), new HoldingPlayer([2]));
  // 30 steps of 2 each; the place is their sum.
  expect(episode).toEqual({
    claim: null,
    episode_return: 60,
    num_steps: 30,
    num_ticks: 30,
    end_reason: "terminated",
    info: { place: 60 },
    play_seconds: 0,
    alarms: [],
    recorded: null,
  });
});

test("with several agents the return is their mean", async () => {
  const game = lineGame(
    () => ({
      observation: [
        [0, 0],
        [0, 0],
      ],
      reward: [1, 3],
    }),
    {
      numAgents: 2,
      create: () => {
        let tick = 0;
        return {
          start: () => [
            [0, 0],
            [0, 0],
          ],
          update: () => ({
            observation: [
              [0, 0],
              [0, 0],
            ],
            reward: [1, 3],
            terminated: ++tick === 5,
          }),
        } as never;
      },
    },
  );
  const episode = await played(game, new RandomPlayer(SEED), orderOf({ record: true }));
  // 5 * (1 + 3) / 2.
  expect(episode).toMatchObject({ episode_return: 10, num_steps: 5 });
  expect(episode.recorded?.actions.shape).toEqual([5, 2]);
  expect(await replays(game, episode)).toBe(true);
});

test("the index names the episode's streams: others have another luck, the same one the same", async () => {
  const game = lineGame();
  const order = orderOf({ record: true });
  const records = await Promise.all(
    [3, 4, 3].map(async (index) => (await played(game, new RandomPlayer(SEED), order, {}, index)).recorded),
  );
  expect(records[0]).toMatchObject({ instance: 3, episode: 0, seed: SEED, game_sha256: order.game.sha256 });
  expect(records[2]).toEqual(records[0]);
  expect(records[1]?.marks).not.toEqual(records[0]?.marks);
});

test("max_steps stops it, and its record plays again", async () => {
  const game = lineGame();
  const episode = await played(game, new RandomPlayer(SEED), orderOf({ max_steps: 12, record: true }));
  expect(episode).toMatchObject({ num_steps: 12, end_reason: "stopped" });
  expect(episode.recorded).toMatchObject({ num_steps: 12, end_reason: "stopped" });
  expect(await replays(game, episode)).toBe(true);
});

test("parameters are the order's", async () => {
  const ranges = { parameters: { speed: { default: 1, low: 0, high: 9 } } };
  const game = lineGame(undefined, {
    ...ranges,
    create: () => {
      let speed = 0;
      return {
        start: ({ parameters }: { parameters: { speed: number } }) => {
          speed = parameters.speed;
          return [0, 0];
        },
        update: () => ({ observation: [0, 0], reward: speed, terminated: true }),
      } as never;
    },
  });
  const order = orderOf({ parameters: { speed: 4 }, record: true });
  const episode = await played(game, new HoldingPlayer([0]), order);
  expect(episode.episode_return).toBe(4);
  expect(episode.recorded?.parameters).toEqual({ speed: 4 });
});

test("a game that throws fails in that step: an alarm with its source, and a record that fails alike", async () => {
  const game = lineGame((tick) => {
    if (tick === 10) throw new RangeError("no room");
    return undefined;
  });
  const episode = await played(game, new HoldingPlayer([1]));
  // Nine good steps, and the tenth.
  expect(episode).toMatchObject({ num_steps: 10, num_ticks: 10, end_reason: "failed", episode_return: 9 });
  expect(episode.alarms).toMatchObject([
    { oracle: "error", text: "update() threw: RangeError: no room", step: 9, tick: 10 },
  ]);
  expect(episode.alarms[0].method?.text).toContain("place += action");
  expect(episode.recorded).toMatchObject({
    end_reason: "failed",
    num_steps: 10,
    seats: [{ player: "script" }],
  });
  expect(await replays(game, episode)).toBe(true);
});

test.each([
  ["reward", { reward: Number.NaN }, "failed", 10],
  ["observation[0]", { observation: [Number.NaN, 0] }, "failed", 10],
  ["info.place", { info: { place: Number.NaN } }, "failed", 10],
  ["info.other", { info: { place: 1, other: Number.NaN } }, "terminated", 30],
] as const)("NaN in %s is an alarm of its own kind", async (field, wrong, end, steps) => {
  const game = lineGame((tick) => (tick === 10 ? wrong : undefined));
  const episode = await played(game, new HoldingPlayer([1]));
  expect(episode).toMatchObject({ end_reason: end, num_steps: steps });
  const text = `update() returned ${field} = NaN, expected a finite number`;
  expect(episode.alarms).toMatchObject([{ oracle: "nan", text, step: 9, tick: 10 }]);
  expect(episode.alarms[0].method?.text).toContain("place += action");
  expect(await replays(game, episode)).toBe(true);
});

test("a game that cannot start or be made says so without a step", async () => {
  const broken = (fields: object) => lineGame(undefined, fields);
  const throwing = (text: string) => () => {
    throw new Error(text);
  };
  const unstarted = broken({ create: () => ({ start: throwing("x"), update: () => undefined }) });
  const episode = await played(unstarted, new HoldingPlayer([1]));
  expect(episode).toMatchObject({
    num_steps: 0,
    end_reason: "failed",
    alarms: [{ text: "start() threw: x" }],
  });
  expect(await replays(unstarted, episode)).toBe(true);
  const uncreated = await played(broken({ create: throwing("y") }), new HoldingPlayer([1]));
  expect(uncreated).toMatchObject({ num_steps: 0, end_reason: "failed", recorded: null });
  expect(uncreated.alarms).toMatchObject([{ oracle: "error", text: "create() threw: y" }]);
});

/** What a thread would hear, without a thread. */
class Hearing extends ThreadErrors {
  texts: string[] = [];
  override get hasAny() {
    return this.texts.length > 0;
  }
  override take() {
    return this.texts.splice(0).map((text) => ({ text, stack: null }));
  }
}

test("what is heard while it plays is of its step, what is heard before of no episode", async () => {
  const errors = new Hearing();
  errors.texts.push("of the episode before");
  const game = lineGame((tick) => {
    if (tick === 5) errors.texts.push("odd state");
    return undefined;
  });
  const episode = await played(game, new HoldingPlayer([1]), orderOf(), { errors });
  expect(episode).toMatchObject({ end_reason: "terminated", num_steps: 30 });
  expect(episode.alarms).toEqual([
    { oracle: "error", text: "odd state", stack: null, method: null, step: 4, tick: 5 },
  ]);
  expect(episode.recorded?.num_steps).toBe(30);
});

test("what comes in the turn after the last step is still of the episode", async () => {
  const errors = new Hearing();
  const yieldTurn = async () => void errors.texts.push("unhandled rejection: Error: late");
  const episode = await played(lineGame(), new HoldingPlayer([1]), orderOf(), { errors, yieldTurn });
  expect(episode.alarms).toMatchObject([{ text: "unhandled rejection: Error: late", step: 29, tick: 30 }]);
});

test("what was heard in loading is told of in every episode", async () => {
  const game = lineGame();
  const table = tableOf(game, { ofLoading: [{ text: "at the top", stack: null }] });
  for (const index of [0, 1]) {
    const episode = await playEpisode(new HoldingPlayer([1]), index, orderOf(), table);
    expect(episode?.alarms).toMatchObject([{ text: "at the top", step: 0, tick: 0 }]);
  }
});

test("one that is told to stop is given up, and its copy is not used again", async () => {
  const game = lineGame(() => ({ terminated: false }));
  const actions = new PlayerActions(game);
  const given: boolean[] = [];
  class Counted extends GameCopies {
    override giveBack(...args: Parameters<GameCopies["giveBack"]>): void {
      given.push(args[1]);
      super.giveBack(...args);
    }
  }
  const asked: number[] = [];
  const table = tableOf(game, {
    actions,
    copies: new Counted(game, 0, actions.masks),
    goesOn: (step) => asked.push(step) < 3,
  });
  expect(await playEpisode(new HoldingPlayer([1]), 0, orderOf(), table)).toBe(null);
  expect(asked).toEqual([15, 31, 47]);
  expect(given).toEqual([false]);
});

test("what did not come in time says nothing of the game: the episode is none", async () => {
  const late = lineGame(undefined, {
    create: () =>
      ({
        start: () => {
          throw new LateError("the page did not load within 20 s");
        },
        update: () => undefined,
      }) as never,
  });
  await expect(played(late, new HoldingPlayer([0]))).rejects.toThrow("did not load within 20 s");
});

test("a page that went on without what it asked for is judged where nothing went wrong alone", async () => {
  const failing = lineGame((tick) => {
    if (tick === 3) throw new Error("no picture");
    return undefined;
  });
  const unsettled = (game: GameDefinition): Partial<EpisodeTable> => {
    const copies = new GameCopies(game, 0, new PlayerActions(game).masks);
    Object.defineProperty(copies, "isUnsettled", { value: true });
    return { copies };
  };
  const player = new HoldingPlayer([0]);
  await expect(played(failing, player, orderOf(), unsettled(failing))).rejects.toThrow("went on without");
  expect(await played(lineGame(), player, orderOf(), unsettled(lineGame()))).toMatchObject({ alarms: [] });
  expect((await played(failing, player)).alarms).toHaveLength(1);
});

test("where no episode begins in a used page, the one before shows it", async () => {
  const game = lineGame(undefined, {
    create: () =>
      ({
        start: () => {
          throw new Error("the scene is paused");
        },
        update: () => undefined,
      }) as never,
  });
  const player = new HoldingPlayer([0]);
  const { recorded } = await played(lineGame(), player, orderOf({ record: true }));
  const copies = new GameCopies(game, 0, new PlayerActions(game).masks);
  Object.defineProperty(copies, "before", { get: () => (isUsed ? recorded : null) });
  let isUsed = true;
  copies.giveBack = () => {
    isUsed = false;
  };
  const again: GameDefinition = { ...game, create: () => (isUsed ? game : lineGame()).create() };
  Object.defineProperty(copies, "definition", { value: again });
  copies.take = async () => createInstance(again);
  const episode = await played(again, player, orderOf(), { copies });
  expect(episode).toMatchObject({ episode_return: 0, num_steps: 30, end_reason: "terminated" });
  expect(episode.recorded).toBe(recorded);
  expect(episode.alarms).toMatchObject([
    {
      oracle: "retry-broken",
      text: "after this episode the game does not begin again in the same page: start() threw: the scene is paused",
      step: 30,
    },
  ]);
  // In a new page it is an error of the game.
  expect((await played(game, player)).alarms).toMatchObject([{ oracle: "error" }]);
});
