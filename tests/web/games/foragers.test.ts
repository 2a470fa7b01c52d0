/** Foragers conforms, and its berries, its wolf, and who ends and comes back are what the README says. */

import { expect, test } from "vitest";
import definition, { type Foragers } from "../../../web/games/foragers/game.ts";
import { distanceBetween, isBush, OFFSETS } from "../../../web/games/foragers/garden.ts";
import { GroupInstance } from "../../../web/sdk/src/group-instance.ts";
import { describeConformance } from "./conformance.ts";

describeConformance(definition, { maxMicrosecondsPerTick: 100 });

const STAY = 0;
const WIDTH = 11;
/** Cell of (row, column). */
const at = (row: number, column: number): number => (row + 1) * WIDTH + column + 1;

function started(episode = 0) {
  const instance = new GroupInstance(definition, { seedLow: 5 });
  instance.start(episode);
  const { garden } = instance.game as Foragers;
  // Everyone at a known place, and the berries where nobody comes by.
  garden.foragers.set([at(0, 0), at(0, 4), at(8, 8)]);
  garden.berries.set([at(8, 0), at(8, 1), at(8, 2), at(8, 3)]);
  garden.wolf = at(8, 4);
  return { instance, garden, game: instance.game as Foragers };
}

test("a step leads to the next cell, but not into hedge, bush or another forager", () => {
  const { instance, garden } = started();
  garden.foragers.set([at(0, 0), at(0, 1), at(1, 2)]);
  // Up is the hedge; right of the first stands the second; below the third, at (2, 2), a bush.
  instance.step([1, 3, 2]);
  expect([...garden.foragers]).toEqual([at(0, 0), at(0, 1), at(1, 2)]);
  const [mask] = instance.masks;
  expect([...mask]).toEqual([1, 0, 1, 0, 0]);
  expect([...instance.masks[2]]).toEqual([1, 1, 0, 1, 1]);
  instance.step([2, 4, STAY]);
  expect([...garden.foragers]).toEqual([at(1, 0), at(0, 2), at(1, 2)]);
});

test("a berry is worth 1 to the one who picks it, and another grows on an empty cell", () => {
  for (let episode = 0; episode < 20; episode++) {
    const { instance, garden } = started(episode);
    garden.berries[0] = at(0, 5);
    instance.step([STAY, 4, STAY]);
    expect([...instance.rewards]).toEqual([0, 1, 0]);
    const [berry] = garden.berries;
    expect(
      isBush(berry) || [...garden.foragers, garden.wolf, ...garden.berries.subarray(1)].includes(berry),
    ).toBe(false);
  }
});

test("the wolf hunts the nearest forager in every second step", () => {
  const { instance, garden } = started();
  let nearer = 0;
  let moves = 0;
  for (let round = 0; round < 200; round++) {
    garden.foragers.set([at(0, 0), at(0, 8), at(4, 0)]);
    garden.wolf = at(7, 4);
    const before = garden.wolf;
    instance.step([STAY, STAY, STAY]);
    const isMoving = garden.wolf !== before;
    expect(isMoving).toBe(instance.episodeSteps % 2 === 0);
    if (isMoving) {
      moves++;
      if (distanceBetween(garden.wolf, at(4, 0)) < distanceBetween(before, at(4, 0))) nearer++;
    }
    if (instance.episodeOver) instance.start(round);
  }
  // 3/4 hunting, and half of the rest goes nearer by chance: 0.875 of 100, deviation 3.3.
  expect(moves).toBe(100);
  expect(nearer).toBeGreaterThan(74);
  expect(nearer).toBeLessThan(100);
});

test("E9: the caught end, are away for 15 steps, and come back away from the wolf", () => {
  const { instance, garden } = started();
  garden.foragers[0] = garden.wolf;
  instance.step([STAY, STAY, STAY]);
  expect([...instance.terminated]).toEqual([1, 0, 0]);
  expect([...instance.active]).toEqual([0, 1, 1]);
  expect([...instance.rewards]).toEqual([-3, 0, 0]);
  let away = 0;
  while (instance.active[0] === 0) {
    garden.wolf = at(8, 4);
    instance.step([STAY, STAY, STAY]);
    expect([instance.valid[0], instance.rewards[0], instance.terminated[0]]).toEqual([0, 0, 0]);
    away++;
  }
  expect(away).toBe(15);
  expect(garden.foragers[0]).toBeGreaterThanOrEqual(0);
  garden.wolf = at(8, 4);
  const before = garden.foragers[0];
  const direction = [1, 2, 3, 4].find((action) => garden.isFree(before + OFFSETS[action]))!;
  instance.step([direction, STAY, STAY]);
  expect([instance.valid[0], garden.foragers[0]]).toEqual([1, before + OFFSETS[direction]]);
});

test("E9: with all three away at once the episode ends", () => {
  const { instance, garden } = started();
  garden.foragers.fill(garden.wolf);
  instance.step([STAY, STAY, STAY]);
  expect([...instance.terminated]).toEqual([1, 1, 1]);
  expect([instance.episodeOver, instance.endReason]).toEqual([true, "terminated"]);
  expect(instance.totals.metricValues[1]).toBe(3);
});

test("the two nearest berries, the wolf and the others are where the observation says", () => {
  const { instance, garden } = started();
  garden.foragers.set([at(3, 3), at(0, 4), at(8, 8)]);
  garden.berries.set([at(8, 0), at(3, 5), at(0, 0), at(2, 3)]);
  garden.wolf = at(7, 3);
  // An odd step: the wolf stays, and moves next.
  instance.step([STAY, STAY, STAY]);
  const observation = [...(instance.views[0] as Float32Array)];
  const ninths = (values: number[]): number[] => values.map((value) => Math.fround(value / 9));
  expect(observation.slice(0, 4)).toEqual([1, 1, 1, 1]);
  expect(observation.slice(4, 6)).toEqual(ninths([3, 3]));
  // Nearest is the one a cell above, then the one two cells to the right.
  expect(observation.slice(6, 12)).toEqual([...ninths([-1, 0]), 1, 0, 0, 0]);
  expect(observation.slice(12, 18)).toEqual([...ninths([0, 2]), 0, 0, 0, 1]);
  expect(observation.slice(18, 21)).toEqual([...ninths([4, 0]), 1]);
  expect(observation.slice(21)).toEqual([1, ...ninths([-3, 1]), 1, ...ninths([5, 5])]);
});
