/** Recorded episodes in words. */

import type { EpisodeEntry, GameEntry, RecordedEpisode } from "@attract/schema";
import { describe, expect, test } from "vitest";
import {
  differenceText,
  endText,
  episodeFacts,
  episodesShown,
  episodeTitle,
  gameOf,
  playersText,
} from "../../../../web/dashboard/src/state/episode-text.ts";

const NOW = Date.parse("2026-11-26T12:00:00Z");

function entry(change: Partial<EpisodeEntry>): EpisodeEntry {
  return {
    id: "e",
    source: "evaluation",
    role: "best",
    policy_version: 12,
    agent_steps: 100,
    episode_return: 12.5,
    num_steps: 340,
    seconds: 22.667,
    end_reason: "terminated",
    error: null,
    starred: false,
    num_bytes: 900,
    created_at: "2026-11-26T11:58:00Z",
    problem: null,
    ...change,
  } as EpisodeEntry;
}

describe("an entry", () => {
  test.each([
    [{}, "Best of an evaluation, version 12"],
    [{ role: "median", source: "training" }, "Median of the training, version 12"],
    [{ role: null, source: "failure" }, "Failed, version 12"],
    [{ role: null, source: "person", policy_version: null }, "Played by hand"],
  ] as [Partial<EpisodeEntry>, string][])("%o: %s", (change, title) => {
    expect(episodeTitle(entry(change))).toBe(title);
  });

  test("has its facts in a line, or its problem", () => {
    expect(episodeFacts(entry({}), NOW)).toBe("Return 12.5, 340 steps, 22.67 s, 2 min ago");
    expect(episodeFacts(entry({ problem: "the file is cut off" }), NOW)).toBe("the file is cut off");
  });
});

describe("a list", () => {
  const entries = [
    entry({ id: "match", source: "match", role: null }),
    entry({ id: "new" }),
    entry({ id: "fault", source: "failure", role: null }),
    entry({ id: "star", source: "person", starred: true }),
  ];
  const ids = (filter: Parameters<typeof episodesShown>[1]) =>
    episodesShown(entries, filter).map(({ id }) => id);

  test("has the starred ones first and those of a match last", () =>
    expect(ids("all")).toEqual(["star", "new", "fault", "match"]));

  test("shows what its filter says", () => {
    expect(ids("failure")).toEqual(["fault"]);
    expect(ids("starred")).toEqual(["star"]);
    expect(ids("check")).toEqual([]);
  });
});

describe("the players", () => {
  const seat = (change: object) => ({
    player: "policy",
    policy_id: "main",
    policy_version: 3,
    deterministic: true,
    ...change,
  });
  const text = (...seats: object[]) => playersText({ seats } as Pick<RecordedEpisode, "seats">);

  test("are named once", () => {
    expect(text(seat({}))).toBe("the policy of version 3");
    expect(text(seat({ player: "person" }))).toBe("a person");
    expect(text(seat({ policy_id: "red" }), seat({ policy_id: "blue" }), seat({ player: "random" }))).toBe(
      "the policy red of version 3, the policy blue of version 3, random actions",
    );
    expect(text(seat({}), seat({}))).toBe("the policy main of version 3");
  });
});

describe("the game of a file", () => {
  const reference = (name: string, sha256: string) => ({ name, sha256, url: name, has_page: false });
  const game = (name: string, sha256: string, bundled = true): GameEntry => ({
    name,
    title: name,
    bundled,
    error: null,
    reference: reference(name, sha256),
    card: null,
  });
  const games = [game("snake", "s"), game("key-door", "k"), game("mine/game.ts", "m", false)];
  const found = (game_id: string, game_sha256: string | null, run: Parameters<typeof gameOf>[1] = null) =>
    gameOf({ game_id, game_sha256 }, run, games)?.name ?? null;

  test("is the run's, the same module, or a bundled game of its name", () => {
    expect(found("Snake-v1", "other")).toBe("snake");
    expect(found("KeyDoor-v2", null)).toBe("key-door");
    expect(found("Mine-v1", "m")).toBe("mine/game.ts");
    expect(found("Snake-v1", "s", { game_reference: reference("theirs", "t") })).toBe("theirs");
    expect(found("Snake-v1", "s", { game_reference: null })).toBe("snake");
    expect(found("Mine-v1", null)).toBeNull();
  });
});

test("how a record ended, and where a play differs from it", () => {
  expect(endText({ end_reason: "failed" })).toBe("The game failed");
  expect(endText({ end_reason: "stopped" })).toBe("Stopped");
  expect(endText({ end_reason: "time_limit" })).toBe("Time is up");
  expect(differenceText({ step: 30, seconds: 3, text: "the agent sees something else" })).toBe(
    "It differs from the record at step 30, second 3.00 s: the agent sees something else. " +
      "It plays on with the recorded actions.",
  );
});
