/** Keydoor conforms; the way to its treasure leads by key and door, in that order, and nothing else pays. */

import { expect, test } from "vitest";
import { HEIGHT, WALL } from "../../../web/games/keydoor/draw.ts";
import definition, { type Keydoor } from "../../../web/games/keydoor/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { describeConformance } from "./conformance.ts";

// Random play finding nothing is what the game is for.
describeConformance(definition, { maxMicrosecondsPerTick: 20, warnings: ["constant-reward"] });

const [UP, DOWN, LEFT, RIGHT, USE] = [0, 1, 2, 3, 4];

interface Cell {
  x: number;
  y: number;
}

function started(episode: number): { instance: GameInstance; game: Keydoor } {
  const instance = new GameInstance(definition, { seedLow: 5 });
  instance.start(episode);
  return { instance, game: instance.game as Keydoor };
}

/** The first step of a way that keeps to the row until it is in the target's column. */
function stepTowards({ x, y }: Cell, to: Cell): number {
  if (y !== to.y && x !== WALL) return y < to.y ? DOWN : UP;
  if (x !== to.x) return x < to.x ? RIGHT : LEFT;
  return USE;
}

/** What a player does who knows the rules. */
function choose({ player, key, door, treasure, hasKey, isOpen }: Keydoor): number {
  if (!hasKey) return stepTowards(player, key);
  if (!isOpen) return stepTowards(player, { x: WALL - 1, y: door.y });
  if (player.x <= WALL) return stepTowards(player, { x: WALL + 1, y: door.y });
  return stepTowards(player, treasure);
}

function walk(instance: GameInstance, game: Keydoor, to: Cell): void {
  for (let step = 0; step < 30; step++) {
    const action = stepTowards(game.player, to);
    if (action === USE) return;
    instance.step(action);
  }
  throw new Error(`never came to ${to.x}, ${to.y}`);
}

test("who knows the rules has the treasure in time, and is paid for nothing else", () => {
  const instance = new GameInstance(definition, { seedLow: 5 });
  for (let episode = 0; episode < 50; episode++) {
    instance.start(episode);
    const rewards: number[] = [];
    while (!instance.episodeOver) {
      instance.step(choose(instance.game as Keydoor));
      rewards.push(instance.rewards[0]);
    }
    expect(instance.endReason).toBe("terminated");
    expect(rewards.pop()).toBe(1);
    expect(rewards.every((reward) => reward === 0)).toBe(true);
    expect([...instance.totals.metricValues]).toEqual([1, 1]);
  }
});

test("without the key the door stays locked, and a locked door is a wall", () => {
  const { instance, game } = started(1);
  walk(instance, game, { x: WALL - 1, y: game.door.y });
  instance.step(USE);
  expect(game.isOpen).toBe(false);
  instance.step(RIGHT);
  expect(game.player).toEqual({ x: WALL - 1, y: game.door.y });
});

test("with the key it is unlocked from the cell to its left alone, and then let through", () => {
  const { instance, game } = started(2);
  walk(instance, game, { ...game.key });
  instance.step(USE);
  expect(game.hasKey).toBe(true);
  walk(instance, game, { x: WALL - 1, y: (game.door.y + 1) % HEIGHT });
  instance.step(USE);
  expect(game.isOpen).toBe(false);
  walk(instance, game, { x: WALL - 1, y: game.door.y });
  instance.step(USE);
  expect(game.isOpen).toBe(true);
  walk(instance, game, { x: WALL + 1, y: game.door.y });
  expect(game.player).toEqual({ x: WALL + 1, y: game.door.y });
});

test("the observation says where everything is from the player, and how far it has come", () => {
  const { instance, game } = started(3);
  const seen = instance.views[0] as Float32Array;
  expect(seen[2] * 10).toBeCloseTo(game.key.x - game.player.x);
  expect(seen[3] * 6).toBeCloseTo(game.key.y - game.player.y);
  expect([seen[8], seen[9]]).toEqual([0, 0]);
  walk(instance, game, { ...game.key });
  expect([seen[2], seen[3]]).toEqual([0, 0]);
  instance.step(USE);
  expect([seen[8], seen[9]]).toEqual([1, 0]);
});
