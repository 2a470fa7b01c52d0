import type { BoxSpace } from "@attract/schema";
import { expect, test } from "vitest";
import {
  gameNamed,
  isGame,
  learnText,
  parameterText,
  spaceText,
} from "../../../../web/dashboard/src/state/game-text.ts";

type Space = Parameters<typeof spaceText>[0];

const box = (shape: number[], rest: Partial<BoxSpace> = {}): BoxSpace => ({
  kind: "box",
  dtype: "float32",
  shape,
  low: null,
  high: null,
  ...rest,
});

test.each<[Space, string]>([
  [box([8]), "8 numbers"],
  [box([1], { low: -2, high: 2 }), "1 number from -2 to 2"],
  [box([3], { low: [0, 0, 0], high: [1, 2, 3] }), "3 numbers"],
  [box([24, 24, 3], { dtype: "uint8", low: 0, high: 255 }), "24 × 24 × 3 pixels"],
  [{ kind: "discrete", n: 2, labels: ["left", "right"] }, "2 choices: left, right"],
  [{ kind: "discrete", n: 1, labels: null }, "1 choice"],
  [{ kind: "discrete", n: 13, labels: Array.from({ length: 13 }, String) }, "13 choices"],
  [{ kind: "multi_discrete", nvec: [3, 2] }, "2 choices at once, of 3, 2"],
  [{ kind: "multi_binary", n: 1 }, "1 switch"],
  [{ kind: "multi_binary", n: 4 }, "4 switches"],
  [{ kind: "set", max: 32, shape: [4] }, "up to 32 × 4 numbers in any order"],
  [
    { kind: "dict", spaces: { eye: box([4]), key: { kind: "discrete", n: 2, labels: null } } },
    "eye: 4 numbers; key: 2 choices",
  ],
])("a space is said in words: %#", (space, text) => {
  expect(spaceText(space)).toBe(text);
});

test("a parameter is its default and its limits", () => {
  expect(parameterText({ default: 10, low: 6, high: 20 })).toBe("10, from 6 to 20");
});

test("what was learned is said with its seconds and beside random play, as far as they are known", () => {
  const card = { about: "Jump.", keys: null, random_return: 21.69, trained_return: 500, learn_seconds: 95 };
  expect(learnText(card)).toBe("Learned in 1:35: 500 points, random play 21.7.");
  expect(learnText({ ...card, random_return: null, learn_seconds: null })).toBe("Trained: 500 points.");
  expect(learnText({ ...card, trained_return: null })).toBeNull();
  expect(learnText(null)).toBeNull();
});

test("a game is found by the whole path that a command had", () => {
  const games = [{ name: "game.ts" }, { name: "src/game.ts" }, { name: "snake" }];
  expect(gameNamed(games, "src/game.ts")).toBe(games[1]);
  expect(gameNamed(games.slice(1), "/home/me/src/game.ts")).toBe(games[1]);
  expect(gameNamed(games, "snake")).toBe(games[2]);
  expect(gameNamed(games, "other.ts")).toBeNull();
  expect(isGame("game.ts", "src/game.ts")).toBe(false);
  expect(isGame("game.ts", "/home/me/mygame.ts")).toBe(false);
});
