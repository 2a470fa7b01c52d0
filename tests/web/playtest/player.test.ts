import { expect, test } from "vitest";
import { PlayerChance } from "../../../web/playtest/src/player.ts";

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
