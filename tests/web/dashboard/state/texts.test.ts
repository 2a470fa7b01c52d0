/** Episodes, demonstrations, games, playtests, reports, findings, ladders and what is shipped, in words. */

import { commandOf, resultOf, snippetOf } from "@attract/dashboard/state/shipping-text";
import type {
  BoxSpace,
  DemonstrationEntry,
  EpisodeEntry,
  GameEntry,
  LadderRow,
  PlaytestFinding,
  PlaytestReport,
  RecordedEpisode,
} from "@attract/schema";
import { describe, expect, it, test } from "vitest";
import { demonstrationTitle } from "../../../../web/dashboard/src/state/demonstration-text.ts";
import {
  differenceText,
  endText,
  episodeFacts,
  episodesShown,
  episodeTitle,
  gameOf,
  playersText,
} from "../../../../web/dashboard/src/state/episode-text.ts";
import {
  changesOfFlag,
  sentenceParts,
  titleOfFinding,
} from "../../../../web/dashboard/src/state/finding-text.ts";
import {
  gameNamed,
  isGame,
  learnText,
  parameterText,
  spaceText,
} from "../../../../web/dashboard/src/state/game-text.ts";
import { intervalText, playerText, shareText } from "../../../../web/dashboard/src/state/ladder.ts";
import {
  beginOf,
  findingIn,
  placeText,
  reportText,
} from "../../../../web/dashboard/src/state/playtest-text.ts";
import { shortError, withoutRules, wordsOf } from "../../../../web/dashboard/src/state/report-text.ts";

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

describe("an entry of an episode", () => {
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

describe("a list of episodes", () => {
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

const RECORDED: DemonstrationEntry = {
  id: "20261123-140200-abcdef",
  game_id: "Catch-v1",
  returns: [12.5],
  num_steps: 1340,
  ended: true,
  created_at: "2026-11-23T14:02:00+00:00",
  player: "person",
  agent: 0,
  problem: null,
};

const LATER = Date.parse("2026-11-23T14:07:00Z");

test("an episode is told by its score, its length and its age", () => {
  expect(demonstrationTitle(RECORDED, LATER)).toBe("Score 12.5, 1,340 steps, 5 min ago");
  expect(demonstrationTitle({ ...RECORDED, num_steps: 1, player: "script" }, LATER)).toBe(
    "Score 12.5, 1 step, script, 5 min ago",
  );
  expect(demonstrationTitle({ ...RECORDED, returns: [-2, 3], agent: 1 }, LATER)).toMatch(/^Score 3,/);
});

test("a damaged file is told by its name and what is wrong with it", () => {
  expect(demonstrationTitle({ ...RECORDED, returns: [], problem: "is no demonstration" }, LATER)).toBe(
    "20261123-140200-abcdef: is no demonstration",
  );
});

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

const FINDING: PlaytestFinding = {
  id: "error",
  level: "error",
  text: "TypeError: x",
  file: "src/game.ts",
  line: 41,
  player: "random",
  step: 21,
  seconds: 2.1,
  episode_file: "01-error.episode.json",
  episode: null,
  problem: null,
};

function report(changes: Partial<PlaytestReport>): PlaytestReport {
  return {
    format: "attract-ci",
    version: 1,
    game: "src/game.ts",
    game_id: "Game-v1",
    verdict: "findings",
    problem: null,
    findings: [FINDING],
    episodes: 64,
    folder: "attract-ci",
    written_at: "2026-11-26T11:00:00Z",
    ...changes,
  };
}

describe("a report of a playtest", () => {
  test.each([
    [{}, "1 finding in 64 episodes, 1 h ago"],
    [{ findings: [FINDING, { ...FINDING, level: "warn" }] }, "1 finding, 1 warning in 64 episodes, 1 h ago"],
    [{ verdict: "plays", findings: [{ ...FINDING, level: "warn" }] }, "1 warning in 64 episodes, 1 h ago"],
    [{ verdict: "plays", findings: [], episodes: 1 }, "Nothing wrong in 1 episode, 1 h ago"],
    [{ verdict: "not_played", problem: "it hangs" }, "Not played, 1 h ago: it hangs"],
  ] as const)("%o", (changes, text) =>
    expect(reportText(report(changes as Partial<PlaytestReport>), NOW)).toBe(text),
  );
});

describe("a finding of a playtest", () => {
  test.each([
    [{}, "src/game.ts:41, played by random, step 21, 2.10 s"],
    [{ line: null, player: null, step: null, seconds: null }, "src/game.ts"],
    [{ file: null, line: null }, "played by random, step 21, 2.10 s"],
  ])("is at %o", (changes, text) => expect(placeText({ ...FINDING, ...changes })).toBe(text));

  test("is shown from two seconds before it happens", () => {
    expect(beginOf({ ...FINDING, seconds: 12.5 })).toBe(10.5);
    expect(beginOf({ ...FINDING, seconds: 1 })).toBe(0);
    expect(beginOf({ ...FINDING, seconds: null })).toBe(0);
  });

  test("is found by the folder of its report and the file of its episode", () => {
    const later = { ...FINDING, id: "nan" };
    const reports = [report({ folder: "other", findings: [later] }), report({})];
    expect(findingIn(reports, "attract-ci", "01-error.episode.json")).toBe(FINDING);
    expect(findingIn(reports, "other", "01-error.episode.json")).toBe(later);
    expect(findingIn(reports, "attract-ci", "02-nan.episode.json")).toBeUndefined();
  });
});

describe("wordsOf", () => {
  it("names the class once", () => {
    expect(wordsOf({ kind: "throw", name: "TypeError", text: "update() threw: TypeError: no" })).toBe(
      "update() threw: TypeError: no",
    );
    expect(wordsOf({ kind: "nan", name: "GameError", text: "reward is NaN" })).toBe(
      "GameError: reward is NaN",
    );
    expect(wordsOf({ kind: "check", name: "contract", text: "no" })).toBe("no");
  });
});

describe("withoutRules", () => {
  it("cites no rule, and keeps everything else", () => {
    expect(withoutRules("C10: the visitor aC1@192.0.2.1 is banned: C7: 3 results differed")).toBe(
      "the visitor aC1@192.0.2.1 is banned: 3 results differed",
    );
  });
});

describe("shortError", () => {
  it("is the bundler's sentence and its place", () => {
    const text = `game.ts could not be bundled
✘ [ERROR] Expected "}" but found "1"

    game.ts:2:75:
      2 │ ...start( { return 1 } });
        ╵                    ^`;
    expect(shortError(text)).toBe('Expected "}" but found "1" (game.ts:2:75)');
    expect(shortError("game.ts imports /etc/passwd\nmore")).toBe("game.ts imports /etc/passwd");
  });
});

describe("a finding", () => {
  it("is headed by its id in words", () => {
    expect(titleOfFinding({ finding_id: "no-episode-ended" })).toBe("No episode ended");
  });

  it("changes the setting of its flag", () => {
    const short = { instances: "collection.instances_per_worker" };
    expect(changesOfFlag("--ppo.learning-rate 0.0025", short)).toEqual({ "ppo.learning_rate": "0.0025" });
    expect(changesOfFlag("--instances 8", short)).toEqual({ "collection.instances_per_worker": "8" });
    expect(changesOfFlag("--preset explore", short)).toEqual({ preset: "explore" });
    expect(changesOfFlag("no flag", short)).toEqual({});
  });

  it("is a sentence in which what can be typed stands apart", () => {
    expect(sentenceParts("take smaller steps: `--ppo.learning-rate 0.0005`")).toEqual([
      { text: "Take smaller steps: ", isCode: false },
      { text: "--ppo.learning-rate 0.0005", isCode: true },
      { text: ".", isCode: false },
    ]);
    expect(sentenceParts("observation[0] was 1")).toEqual([{ text: "observation[0] was 1.", isCode: false }]);
  });
});

const row = (player: string, policy_version: number | null = null): LadderRow => ({
  player,
  policy_version,
  rating: 25,
  rating_std: 8,
  win_rate: null,
  episodes: 0,
});

test("players are named as people know them", () => {
  expect(playerText(row("newest"), 120)).toBe("Version 120, the newest");
  expect(playerText(row("version", 0), 120)).toBe("Version 0");
  expect(playerText(row("random"), 120)).toBe("Random play");
  expect(playerText(row("script:players/greedy.ts"), 120)).toBe("players/greedy.ts");
});

test("shares are in percent, with an interval where there is one", () => {
  expect([shareText(0.524), shareText(0), shareText(null)]).toEqual(["52 %", "0 %", "–"]);
  expect(intervalText({ mean: 0.5, low: 0.404, high: 0.596 })).toBe("40 to 60 %");
  expect(intervalText({ mean: 0, low: 0, high: null })).toBe("0 to 100 %");
});

const RUN = {
  state: "finished" as const,
  goal: 475,
  episode_return_mean: 489.26,
  agent_steps: 122_880,
  elapsed_seconds: 2.4,
};

test("a goal that was reached is said first", () => {
  expect(resultOf(RUN)).toBe("Solved: mean return 489.3 over the last 100 episodes, 122,880 steps in 2 s");
  for (const other of [{ goal: 490 }, { goal: null }, { state: "stopped" as const }]) {
    expect(resultOf({ ...RUN, ...other })).toMatch(/^Mean return 489\.3/);
  }
  expect(resultOf({ ...RUN, episode_return_mean: null })).toBe("122,880 steps in 2 s");
});

test("the lines name a policy where there are several, and the mask where the game has one", () => {
  const plain = snippetOf({ settings: {}, description: null });
  expect(plain).toContain('await loadAgent("./policy/");');
  expect(plain).toContain("agent.tick(() => observation)");
  const settings = { collection: { seats: ["scout", "keeper", "keeper"] } };
  expect(snippetOf({ settings, description: null })).toContain('{ policy: "scout" }');
  const description = { action_mask: true } as never;
  expect(snippetOf({ settings: {}, description })).toContain("agent.tick(() => observation, () => mask)");
});

test("a game that lives in a page has no update to call: its page is written by a command", () => {
  const description = { page: "index.html" } as never;
  expect(commandOf({ run_id: "moles-1", description })).toBe("attract export moles-1 --out site --page");
  expect(commandOf({ run_id: "snake-1", description: { page: null } as never })).toBeNull();
  expect(commandOf({ run_id: "snake-1", description: null })).toBeNull();
});
