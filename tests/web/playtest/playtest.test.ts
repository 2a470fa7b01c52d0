import type { GamePlaytested, PlaytestEpisode, PlaytestGame } from "@attract/schema";
import type { CheckNews } from "@attract/worker/host/game-checker";
import type { AskOutside } from "@attract/worker/policy/outside-policy";
import { box } from "attract/spaces";
import { expect, test } from "vitest";
import { playtestGame } from "../../../web/playtest/src/playtest.ts";
import { ThreadErrors } from "../../../web/playtest/src/thread-errors.ts";
import { exportOf } from "../play/support/golden.ts";
import { lineGame, orderOf } from "../worker/support/playtests.ts";

interface Outcome {
  answer: GamePlaytested;
  episodes: PlaytestEpisode[];
  news: CheckNews[];
}

async function run(
  order: PlaytestGame,
  game = lineGame(),
  began = performance.now(),
  ask: AskOutside = () => Promise.reject(new Error("nobody is asked")),
): Promise<Outcome> {
  const news: CheckNews[] = [];
  const answer = await playtestGame(order, game, new ThreadErrors(), began, (each) => news.push(each), ask);
  const episodes = news.flatMap((each) => (each.type === "played" ? [each.episode] : []));
  return { answer, episodes, news };
}

const plays = (...all: [player: string, first: number, count: number][]) =>
  all.map(([player, first, count]) => ({ player, first, count }));

test("each player has eight episodes, then the next one's turn", async () => {
  const order = orderOf({ plays: plays(["idle", 0, 10], ["random", 100, 3], ["idle", 50, 17]) });
  const { answer, episodes } = await run(order);
  const turns = episodes.map(({ play, index }) => [play, index]);
  const range = (play: number, from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => [play, from + i]);
  expect(turns).toEqual([
    ...range(0, 0, 8),
    ...range(1, 100, 103),
    ...range(2, 50, 58),
    ...range(0, 8, 10),
    ...range(2, 58, 66),
    ...range(2, 66, 67),
  ]);
  expect(answer).toMatchObject({ type: "game_playtested", playtest_id: 4, problem: null, episodes: [] });
});

test("the same order twice has the same outcomes, and an episode those that it has alone", async () => {
  const order = orderOf({
    plays: plays(["random", 0, 9], ["sticky", 0, 9], ["novelty", 0, 9], ["hold-1", 0, 2]),
    record: true,
  });
  const outcomesOf = ({ episodes }: Outcome) => episodes.map((episode) => ({ ...episode, play_seconds: 0 }));
  const first = outcomesOf(await run(order));
  expect(outcomesOf(await run(order))).toEqual(first);
  const [alone] = outcomesOf(await run({ ...order, plays: plays(["novelty", 5, 1]) }));
  const before = first.find(({ play, index }) => play === 2 && index === 5);
  expect({ ...alone, play: 2 }).toEqual(before);
});

test("who cannot play is told of once, and the others play", async () => {
  const { document, model } = exportOf("gru");
  const policy = { name: "trained", document: JSON.stringify(document), model: model as Uint8Array };
  const order = orderOf({
    plays: plays(["hold-9", 0, 20], ["trained:greedy", 0, 20], ["nobody:greedy", 0, 1], ["idle", 0, 2]),
    policies: [policy],
  });
  const { answer, episodes } = await run(order);
  expect(episodes.map(({ play }) => play)).toEqual([3, 3]);
  expect(answer.problem).toBe(null);
  expect(answer.left_out).toEqual([
    "the player hold-9 cannot play: number 9 of 6 held actions, counted from 0",
    "the player trained:greedy cannot play: observation obs: expected 3 numbers, got 2",
    "the player nobody:greedy cannot play: there is no policy nobody",
  ]);
});

test("after the budget no episode begins", async () => {
  const order = orderOf({ plays: plays(["idle", 0, 1000]), budget_seconds: 1 });
  const { answer, episodes } = await run(order, lineGame(), performance.now() - 1_000);
  expect(episodes).toEqual([]);
  expect(answer).toMatchObject({ problem: null });
  expect(answer.seconds).toBeGreaterThanOrEqual(1);
});

/** Without an end, and slow enough that a fast machine does not come to the most steps that an episode may have. */
function endless() {
  return lineGame(() => {
    const until = performance.now() + 0.01;
    while (performance.now() < until);
    return { terminated: false };
  });
}

test("an episode without an end is given up some time after the budget", async () => {
  const game = endless();
  const order = orderOf({ plays: plays(["idle", 0, 5]), budget_seconds: 0.1 });
  const { answer, episodes } = await run(order, game, performance.now() - 2_050);
  expect(episodes).toEqual([]);
  const unspent = await run(order, game, performance.now() - 0);
  expect(unspent.episodes).toEqual([]);
  expect([answer.problem, unspent.answer.problem]).toEqual([null, null]);
  expect(unspent.answer.seconds).toBeGreaterThan(2.1);
});

test("what begins is told: the start, the episode, and now and then that it goes on", async () => {
  const game = endless();
  const { news } = await run(orderOf({ plays: plays(["idle", 7, 1]), budget_seconds: 0.1 }), game);
  const phases = news.flatMap((each) => (each.type === "phase" ? [each.phase] : []));
  expect(phases.slice(0, 2)).toEqual(["the start of episode 7 of idle", "episode 7 of idle"]);
  expect(phases[2]).toMatch(/^step \d+ or later of episode 7 of idle$/);
});

test("a failure that is not the game's ends it, and says where", async () => {
  const order = orderOf({ plays: plays(["idle", 0, 2], ["random", 0, 2]), parameters: { speed: 3 } });
  const { answer, episodes } = await run(order);
  expect(episodes).toEqual([]);
  expect(answer.problem).toBe(
    'the start of episode 0 of idle: parameter "speed" = 3 is not among the declared {}',
  );
});

test("records that would not fit into the answer's frame are left out, the outcomes stay", async () => {
  const still = { observation: [0, 0], reward: 0, terminated: false };
  const game = lineGame(undefined, {
    action: box({ shape: [64], low: -1, high: 1 }),
    create: () => ({ start: () => [0, 0], update: () => still }) as never,
  });
  const order = orderOf({ plays: plays(["idle", 0, 5]), max_steps: 3_000, record: true });
  const { episodes } = await run(order, game);
  // 3,000 * 64 numbers of four bytes are 1,024,000 characters of base64: two fit into 2.5 million.
  expect(episodes.map(({ recorded }) => recorded !== null)).toEqual([true, true, false, false, false]);
});
