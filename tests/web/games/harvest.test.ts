/** Harvest conforms, its picture shows what there is, and its basket pays what the README says. */

import { expect, test } from "vitest";
import definition, { APPLE, type Harvest, STONE } from "../../../web/games/harvest/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { describeConformance } from "./conformance.ts";

describeConformance(definition, { maxMicrosecondsPerTick: 60 });

const [LEFT, STAY, RIGHT] = [0, 1, 2];
const COLORS = { sky: [18, 22, 46], apple: [235, 64, 52], stone: [150, 152, 160], basket: [245, 200, 80] };

function started(episode = 0, parameters?: Record<string, number>) {
  const instance = new GameInstance(definition, { seedLow: 5 });
  instance.start(episode, parameters);
  return { instance, game: instance.game as Harvest, pixels: instance.views[0] as Uint8Array };
}

/** Pixels of `color`, as [row, column]. */
function find(pixels: Uint8Array, color: number[]): number[][] {
  const found: number[][] = [];
  for (let i = 0; i < 24 * 24; i++) {
    if (color.every((byte, channel) => pixels[3 * i + channel] === byte))
      found.push([Math.floor(i / 24), i % 24]);
  }
  return found;
}

test("the picture shows the basket and each falling thing, and sky elsewhere", () => {
  for (let episode = 0; episode < 20; episode++) {
    const { instance, game, pixels } = started(episode, { pause: 40 });
    for (let step = 0; step < 10; step++) instance.step(STAY);
    const [row, column] = [game.rows[0], game.columns[0]];
    expect(row).toBe(10);
    const isApple = game.kinds[0] === APPLE;
    const square = [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ].map(([y, x]) => [row + y, column + x]);
    expect(find(pixels, COLORS.apple)).toEqual(isApple ? square : []);
    expect(find(pixels, COLORS.stone)).toEqual(isApple ? [] : square);
    const basket = find(pixels, COLORS.basket);
    expect(basket).toHaveLength(8);
    expect([basket[0], basket[7]]).toEqual([
      [22, game.basket],
      [23, game.basket + 3],
    ]);
    expect(find(pixels, COLORS.sky)).toHaveLength(24 * 24 - 4 - 8);
  }
});

test("the basket moves two columns a step and stops at the walls", () => {
  const { instance, game } = started();
  for (let step = 0; step < 15; step++) instance.step(LEFT);
  expect(game.basket).toBe(0);
  instance.step(RIGHT);
  instance.step(STAY);
  expect(game.basket).toBe(2);
  for (let step = 0; step < 15; step++) instance.step(RIGHT);
  expect(game.basket).toBe(20);
});

test("an apple pays 1 and a stone costs 1, but only where it touches the basket", () => {
  const { instance, game } = started(0, { pause: 40 });
  // The basket covers columns 10 to 13: a thing of two columns touches it from 9 to 13.
  for (const [kind, column, reward] of [
    [APPLE, 8, 0],
    [APPLE, 9, 1],
    [APPLE, 13, 1],
    [APPLE, 14, 0],
    [STONE, 9, -1],
    [STONE, 14, 0],
  ]) {
    instance.start(1, { pause: 40 });
    game.basket = 10;
    game.kinds[0] = kind;
    game.columns[0] = column;
    const rewards: number[] = [];
    for (let step = 1; step <= 22; step++) {
      instance.step(STAY);
      rewards.push(instance.rewards[0]);
    }
    // It starts in row 0 and 1; after 21 steps its lower row would be 22, the basket's.
    expect(rewards.findIndex((value) => value !== 0)).toBe(reward === 0 ? -1 : 20);
    expect(rewards[20]).toBe(reward);
    const missed = kind === APPLE && reward === 0 ? 1 : 0;
    expect([...instance.totals.metricValues]).toEqual([reward === 1 ? 1 : 0, missed, reward === -1 ? 1 : 0]);
  }
});

test("chasing the lowest apple catches nearly all of them", () => {
  const { instance, game } = started();
  let caught = 0;
  let missed = 0;
  for (let episode = 0; episode < 20; episode++) {
    instance.start(episode);
    while (!instance.episodeOver) {
      let target = -1;
      for (let i = game.numThings - 1; i >= 0; i--) if (game.kinds[i] === APPLE) target = i;
      const distance = target < 0 ? 0 : game.columns[target] - 1 - game.basket;
      instance.step(Math.abs(distance) < 2 ? STAY : distance < 0 ? LEFT : RIGHT);
    }
    caught += instance.totals.metricValues[0];
    missed += instance.totals.metricValues[1];
  }
  expect(caught / (caught + missed)).toBeGreaterThan(0.9);
  expect(instance.endReason).toBe("time_limit");
});
