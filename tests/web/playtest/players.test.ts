import { discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { PlayerActions } from "../../../web/playtest/src/player-actions.ts";
import { createPlayer } from "../../../web/playtest/src/players.ts";
import { actionsOf, lineGame, orderOf } from "../worker/support/playtests.ts";

const GAME = lineGame(undefined, { action: discrete(6), idle: 3 });
const create = (name: string) => createPlayer(name, orderOf(), GAME, new PlayerActions(GAME));

test("idle does the game's idle action, hold-K the K-th held one", async () => {
  expect(actionsOf(await create("idle"), GAME, 0, 1)).toEqual([[3]]);
  expect(actionsOf(await create("hold-5"), GAME, 0, 1)).toEqual([[5]]);
});

test.each(["random", "sticky", "novelty"])("%s plays", async (name) => {
  expect(actionsOf(await create(name), GAME)).toHaveLength(30);
});

test.each([
  ["hold-6", "number 6 of 6 held actions, counted from 0"],
  ["recorded-0", "number 0 of 0 recorded episodes, counted from 0"],
  ["younger:greedy", "there is no policy younger"],
])("%s is refused", async (name, text) => {
  await expect(create(name)).rejects.toThrow(text);
});
