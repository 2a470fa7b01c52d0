import { expect, test } from "vitest";
import { playEpisode } from "../../../web/playtest/src/play-episode.ts";
import { RandomPlayer, RecordedPlayer } from "../../../web/playtest/src/scripted-players.ts";
import { evenGame, lineGame, orderOf, tableOf } from "../worker/support/playtests.ts";

const ORDER = orderOf({ record: true, max_steps: 20 });

async function episodeOf(game = lineGame()) {
  const played = await playEpisode(new RandomPlayer({ low: 9, high: 1 }), 5, ORDER, tableOf(game));
  if (played?.recorded == null) throw new Error("nothing was recorded");
  return played.recorded;
}

test("it plays the record's actions on the record's streams, whatever the order's seed and index", async () => {
  const game = lineGame();
  const recorded = await episodeOf(game);
  const player = await RecordedPlayer.of(game, recorded);
  const order = orderOf({ record: true, seed: { low: 100, high: 100 } });
  const played = await playEpisode(player, 77, order, tableOf(game));
  expect(played?.recorded).toEqual(recorded);
});

test("where the record ends and the game does not, it stops", async () => {
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
