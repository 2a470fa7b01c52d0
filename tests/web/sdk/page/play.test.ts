/** A game on a page: paced by frames, in whole ticks, with actions held for whole steps. */

import { expect, test } from "vitest";
import type { Action } from "../../../../web/sdk/src/contract.ts";
import { GameInstance } from "../../../../web/sdk/src/instance.ts";
import { createPlayer, type PlayerOptions } from "../../../../web/sdk/src/page/play.ts";
import { type CountingGame, countingGame } from "../counting-game.ts";

/** A player on a page whose frames come when `frame` says so. */
function onPage(options: Partial<PlayerOptions> = {}) {
  let callback: ((now: number) => void) | null = null;
  let now = 1000;
  const errors: unknown[] = [];
  const player = createPlayer({
    definition: countingGame({ secondsPerStep: 0.3 }),
    canvas: { width: 10, height: 10, getContext: (() => ({ clearRect: () => undefined })) as never },
    controller: { choose: () => 1 },
    onError: (error) => errors.push(error),
    requestFrame: (next) => {
      callback = next;
      return 7;
    },
    cancelFrame: () => {
      callback = null;
    },
    ...options,
  });
  const frame = (milliseconds: number): void => {
    now += milliseconds;
    callback?.(now);
  };
  player.start();
  frame(0);
  const game = player.instance.game as CountingGame;
  return { player, frame, game, errors, isRunning: () => callback !== null };
}

test("time passes in whole ticks, whatever the frames' rhythm", () => {
  const { frame, game } = onPage();
  frame(99);
  expect(game.tick).toBe(0);
  frame(2);
  expect(game.tick).toBe(1);
  for (let i = 0; i < 60; i++) frame(100 / 6);
  expect(game.tick).toBe(11);
});

test("T3: an action is chosen once per step and held for all its ticks", () => {
  let choices = 0;
  const { frame, game } = onPage({ controller: { choose: () => choices++ % 3 } });
  for (let i = 0; i < 7; i++) frame(100);
  expect(game.actions).toEqual([0, 0, 0, 1, 1, 1, 2]);
  expect(choices).toBe(3);
});

test("after a long pause the game goes on instead of racing", () => {
  const { frame, game } = onPage();
  frame(60_000);
  expect(game.tick).toBe(1);
});

test("speed scales time", () => {
  const { player, frame, game } = onPage();
  player.speed = 3;
  frame(100);
  expect(game.tick).toBe(3);
});

test("a controller that thinks holds the game until it has decided", async () => {
  let decide: (action: Action) => void = () => undefined;
  const controller = {
    choose: () =>
      new Promise<Action>((resolve) => {
        decide = resolve;
      }),
  };
  const { frame, game } = onPage({ controller });
  frame(100);
  frame(100);
  expect(game.tick).toBe(0);
  decide(2);
  await Promise.resolve();
  frame(100);
  expect(game.tick).toBeGreaterThan(0);
  expect(new Set(game.actions)).toEqual(new Set([2]));
});

test("a quick controller is no limit of one step per frame", async () => {
  const { player, frame, game } = onPage({ controller: { choose: async () => 1 } });
  player.speed = 9;
  frame(100);
  for (let i = 0; i < 20; i++) await Promise.resolve();
  // 9 ticks of 0.1 s are owed: three whole steps, each asked for by itself.
  expect(game.tick).toBe(9);
});

test("episodes end where they do in training, and follow each other by number", () => {
  // Two whole steps fit into 0.8 seconds: six ticks, not eight.
  const definition = countingGame({ secondsPerStep: 0.3, maxSeconds: 0.8 });
  const ends: number[][] = [];
  const { frame } = onPage({
    definition,
    onEpisodeEnd: ({ episode, episodeTicks, episodeReturns }) =>
      ends.push([episode, episodeTicks, episodeReturns[0]]),
  });
  for (let i = 0; i < 15; i++) frame(100);
  const trained = new GameInstance(definition);
  trained.start(0);
  while (!trained.episodeOver) trained.step(1);
  expect(ends).toEqual([
    [0, trained.episodeTicks, trained.episodeReturns[0]],
    [1, 6, 21 / 16],
  ]);
});

test("stopped at an episode's end and started again, it goes on with the next episode", () => {
  const ends: number[] = [];
  const page = onPage({
    definition: countingGame({ secondsPerStep: 0.3, maxSeconds: 0.6 }),
    onEpisodeEnd: ({ episode }) => {
      ends.push(episode);
      page.player.stop();
    },
  });
  for (let i = 0; i < 6; i++) page.frame(100);
  expect([ends, page.isRunning()]).toEqual([[0], false]);
  page.player.start();
  page.frame(5000);
  page.frame(100);
  expect(ends).toEqual([0]);
  expect(page.player.instance.episode).toBe(1);
});

test("a game or a controller that fails stops the player and is reported", async () => {
  const failing = onPage({
    definition: countingGame({
      tickResult: () => {
        throw new Error("lost");
      },
    }),
  });
  failing.frame(100);
  expect(failing.errors).toMatchObject([{ message: "update() threw: lost" }]);
  expect(failing.isRunning()).toBe(false);
  const silent = onPage({ controller: { choose: () => Promise.reject(new Error("no session")) } });
  silent.frame(100);
  await Promise.resolve();
  expect(silent.errors).toMatchObject([{ message: "no session" }]);
  expect(silent.isRunning()).toBe(false);
});

test("stop cancels the frame; start goes on without the time in between", () => {
  const { player, frame, game, isRunning } = onPage();
  frame(100);
  player.stop();
  expect(isRunning()).toBe(false);
  player.start();
  frame(5000);
  expect(game.tick).toBe(1);
  frame(100);
  expect(game.tick).toBe(2);
});
