/** A game on a page: paced by frames, in whole ticks, with actions held for whole steps. */

import { expect, test } from "vitest";
import type { Action } from "../../../../web/sdk/src/contract.ts";
import { defineGame } from "../../../../web/sdk/src/define-game.ts";
import { describe } from "../../../../web/sdk/src/description.ts";
import { GameInstance } from "../../../../web/sdk/src/instance.ts";
import { createKeyboard } from "../../../../web/sdk/src/page/keyboard.ts";
import {
  allowedAction,
  beside,
  type Choice,
  createPlayer,
  type PlayerOptions,
} from "../../../../web/sdk/src/page/play.ts";
import { box, discrete, multiBinary, multiDiscrete } from "../../../../web/sdk/src/spaces.ts";
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

test("a game that is waited for ends as any other, and is not stepped once it is cut meanwhile", async () => {
  let stepped: () => void = () => undefined;
  const { create, ...definition } = countingGame({ tickResult: (tick) => ({ terminated: tick === 2 }) });
  const ahead = {
    start: () => Promise.resolve(),
    step: () => new Promise<void>((resolve) => (stepped = resolve)),
  };
  const ends: number[] = [];
  const { player, frame, game, errors } = onPage({
    definition: { ...definition, create: (...given) => Object.assign(create(...given), { ahead }) },
    onEpisodeEnd: ({ episode }) => ends.push(episode),
  });
  const tick = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve));
    frame(100);
    stepped();
    await new Promise((resolve) => setTimeout(resolve));
  };
  await tick();
  await tick();
  expect([ends, game.tick, player.instance.episodeOver]).toEqual([[0], 2, true]);
  await tick();
  await tick();
  expect([player.instance.episode, game.tick]).toEqual([1, 1]);
  frame(100);
  player.instance.cut();
  await tick();
  expect([ends, game.tick, errors]).toEqual([[0], 1, []]);
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

/** Two agents, steps of two ticks; agent 1 ends in the first tick of step 2 and is back in its second. */
function pair(taken: Choice[]) {
  return defineGame({
    id: "Pair-v1",
    tickSeconds: 0.1,
    secondsPerStep: 0.2,
    maxSeconds: 1,
    numAgents: 2,
    observation: box({ shape: [1] }),
    action: discrete(9),
    create: () => {
      let tick = 0;
      return {
        start: () => {
          tick = 0;
          return { observation: [[0], [0]] };
        },
        update: (_, actions: never) => {
          tick++;
          taken.push(Array.from(actions as number[]));
          const ends = tick === 3 ? { terminated: [false, true] } : {};
          const back = tick === 4 ? { active: [true, true] } : {};
          return { observation: [[tick], [tick]], reward: [1, 1], ...ends, ...back };
        },
      };
    },
  });
}

test("E9: a person plays one agent, another controller the rest", async () => {
  const taken: Choice[] = [];
  const keyboard = { choose: () => 7 };
  const quick = onPage({ definition: pair(taken), controller: beside(keyboard, { choose: () => [1, 2] }) });
  quick.frame(100);
  expect(taken).toEqual([[7, 2]]);
  const slow = onPage({
    definition: pair(taken),
    controller: beside(keyboard, { choose: () => Promise.resolve([3, 4]) }),
  });
  slow.frame(100);
  for (let i = 0; i < 5; i++) await Promise.resolve();
  expect(taken[1]).toEqual([7, 4]);
  const second = beside(keyboard, { choose: () => [1, 2] }, 1);
  onPage({ definition: pair(taken), controller: second }).frame(100);
  expect(taken[2]).toEqual([1, 7]);
});

test("S4: a controller is told whose trajectory begins anew, also if it ended and came back within a step", () => {
  const begun: number[][] = [];
  const { frame } = onPage({
    definition: pair([]),
    controller: {
      choose: (_, begins) => {
        begun.push([...begins]);
        return [0, 0];
      },
    },
  });
  for (let i = 0; i < 13; i++) frame(100);
  // Five steps an episode, then the next one.
  expect(begun).toEqual([
    [1, 1],
    [0, 0],
    [0, 1],
    [0, 0],
    [0, 0],
    [1, 1],
    [0, 0],
  ]);
});

test("what a mask forbids is never done, whatever is pressed", () => {
  const taken: Choice[] = [];
  const definition = defineGame({
    id: "Forbidding-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [1] }),
    action: discrete(4),
    actionMask: true,
    create: () => ({
      start: ({ out }) => {
        out.actionMask!.set([0, 0, 1, 1]);
        return [0];
      },
      update: (_, action: never) => {
        taken.push(action);
        return { observation: [0], reward: 0 };
      },
    }),
  });
  let pressed = 0;
  const { frame } = onPage({ definition, controller: { choose: () => pressed++ } });
  for (let i = 0; i < 4; i++) frame(100);
  expect(taken).toEqual([2, 2, 2, 3]);
  expect(allowedAction(multiDiscrete([2, 3]), Uint8Array.of(0, 1, 1, 0, 1), [0, 1])).toEqual([1, 0]);
  expect(allowedAction(multiBinary(2), new Uint8Array(0), [1, 0])).toEqual([1, 0]);
});

test("a box action reaches the game as the keys say it", () => {
  const taken: Choice[] = [];
  const definition = defineGame({
    id: "Wheel-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [1] }),
    action: box({ shape: [2], low: [-1, 0], high: [1, 5] }),
    keys: { ArrowLeft: [-1, 0], ArrowUp: [0, 5] },
    idle: [0, 0],
    create: () => ({
      start: () => [0],
      update: (_, action: never) => {
        taken.push(Array.from(action as number[]));
        return { observation: [0], reward: 0 };
      },
    }),
  });
  const listeners = new Map<string, (event: never) => void>();
  const target = {
    addEventListener: (type: string, listener: (event: never) => void) => void listeners.set(type, listener),
    removeEventListener: () => undefined,
  };
  const keyboard = createKeyboard(describe(definition), target as never);
  const { frame } = onPage({ definition, controller: keyboard });
  const press = (code: string) =>
    listeners.get("keydown")?.({ code, preventDefault: () => undefined } as never);
  frame(100);
  press("ArrowLeft");
  frame(100);
  press("ArrowUp");
  frame(100);
  expect(taken).toEqual([
    [0, 0],
    [-1, 0],
    [-1, 5],
  ]);
});

test("parameters may be drawn anew for each episode", () => {
  const played: Readonly<Record<string, number>>[] = [];
  const { frame } = onPage({
    definition: countingGame({
      parameters: { limit: { low: 1, high: 9, default: 3 } },
      start: ({ parameters, out }) => {
        played.push({ ...parameters });
        (out.observation as Float32Array).fill(0);
      },
      tickResult: () => ({ terminated: true }),
    }),
    parameters: (episode) => (episode === 0 ? undefined : { limit: 4 + episode }),
  });
  for (let i = 0; i < 3; i++) frame(100);
  expect(played).toEqual([{ limit: 3 }, { limit: 5 }, { limit: 6 }]);
});

/** A game that counts its pictures and cannot draw itself at a tick. */
function drawnGame(brokenAt: number) {
  const definition = countingGame({
    tickResult: (tick) => ({ terminated: tick === 4 }),
  });
  const drawn: number[] = [];
  const { create } = definition;
  const broken = {
    ...definition,
    create: (...given: Parameters<typeof create>) => {
      const game = create(...given) as CountingGame;
      return Object.assign(game, {
        draw: () => {
          if (game.tick === brokenAt) throw new Error(`cannot draw ${game.tick}`);
          drawn.push(game.tick);
        },
      });
    },
  };
  return { definition: broken as typeof definition, drawn };
}

test("a picture that fails is told once, and the game goes on and is drawn again from the next episode", () => {
  const { definition, drawn } = drawnGame(2);
  const drawErrors: string[] = [];
  const { frame, errors, isRunning } = onPage({
    definition,
    onDrawError: (error) => drawErrors.push((error as Error).message),
  });
  for (let i = 0; i < 5; i++) frame(100);
  expect(drawErrors).toEqual(["cannot draw 2"]);
  expect([errors, isRunning()]).toEqual([[], true]);
  // Ticks 0 and 1 of the first episode, tick 1 of the next.
  expect(drawn).toEqual([0, 1, 1]);
});

test("a picture that fails ends the player that nobody told what to do then", () => {
  const { frame, errors, isRunning } = onPage({ definition: drawnGame(2).definition });
  for (let i = 0; i < 3; i++) frame(100);
  expect(errors).toHaveLength(1);
  expect(isRunning()).toBe(false);
});

test("nothing is drawn on a canvas without a size", () => {
  const { definition, drawn } = drawnGame(2);
  const canvas = { width: 10, height: 0, getContext: (() => ({ clearRect: () => undefined })) as never };
  const { frame, errors } = onPage({ definition, canvas });
  for (let i = 0; i < 3; i++) frame(100);
  expect([drawn, errors]).toEqual([[], []]);
});
