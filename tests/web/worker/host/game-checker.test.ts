import type {
  Ask,
  CheckGame,
  EpisodeReplay,
  GameChecked,
  GamePlaytested,
  PlaytestDrilled,
  PlaytestEpisode,
  ReplayEpisodes,
} from "@attract/schema";
import type { GameThread } from "@attract/worker/game/game-thread";
import {
  BUSY_MS,
  type CheckNews,
  failedCheck,
  type GameAnswer,
  GameChecker,
  GRACE_MS,
  LOADING_MS,
  PATIENCE_MS,
} from "@attract/worker/host/game-checker";
import { BusyWatch } from "@attract/worker/host/slowdown";
import { expect, test } from "vitest";
import { FakeThread } from "../support/fake-thread.ts";
import { orderOf } from "../support/playtests.ts";

const ORDER: CheckGame = {
  type: "check_game",
  random_episodes: null,
  is_fresh: false,
  record: false,
  parameters: {},
  check_id: 3,
  game: { name: "catch.ts", sha256: "0".repeat(64), url: "games/x.js", has_page: false },
  budget_seconds: 2,
};
class FakeWorker extends FakeThread<unknown, CheckNews> {}

function checker(slowdown = 1) {
  const workers: FakeWorker[] = [];
  const answers: GameAnswer[] = [];
  const asks: Ask[] = [];
  const made = new GameChecker(
    () => {
      workers.push(new FakeWorker());
      return workers.at(-1) as GameThread;
    },
    new BusyWatch(() => slowdown),
  );
  const give = (message: GameAnswer | Ask): void => {
    if (message.type === "ask") asks.push(message);
    else answers.push(message);
  };
  return { made, workers, answers, asks, give };
}

test("the order goes to a worker of its own, which ends with the answer", () => {
  const { made, workers, answers, give } = checker();
  made.begin(ORDER, 0, give);
  expect(workers[0].posted).toEqual([ORDER]);
  const answer = { ...failedCheck(ORDER, { id: "load", text: "t", fix: "f" }), findings: [] };
  workers[0].says({ type: "answered", answer });
  expect(answers).toEqual([answer]);
  expect(workers[0].isTerminated).toBe(true);
  made.check(1e9);
  expect(answers).toHaveLength(1);
});

test("a game that does not come back is ended, and where it was is told", () => {
  const { made, workers, answers, give } = checker();
  made.begin(ORDER, 100, give);
  workers[0].says({ type: "phase", phase: "random play" });
  made.check(100 + 2_000 + GRACE_MS);
  expect(answers).toEqual([]);
  made.check(101 + 2_000 + GRACE_MS);
  expect(workers[0].isTerminated).toBe(true);
  expect(answers[0]).toMatchObject({ check_id: 3, unplayable: false, description: null });
  expect((answers[0] as GameChecked).findings[0]).toMatchObject({ id: "hang", severity: "error" });
  expect((answers[0] as GameChecked).findings[0].text).toBe(
    "the game did not come back within 7 s, during random play: a hang leaves no stack",
  );
});

test("a module whose script fails cannot be played", () => {
  const { made, workers, answers, give } = checker();
  made.begin(ORDER, 0, give);
  workers[0].onerror?.({ message: "SyntaxError: x" } as ErrorEvent);
  expect(answers[0]).toMatchObject({ unplayable: true });
  expect((answers[0] as GameChecked).findings[0]).toMatchObject({ id: "load", text: "SyntaxError: x" });
});

test("another order takes the place of one under way", () => {
  const { made, workers, answers, give } = checker();
  made.begin(ORDER, 0, give);
  made.begin({ ...ORDER, check_id: 4 }, 0, give);
  expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true, false]);
  made.end();
  made.check(1e9);
  expect(answers).toEqual([]);
});

test("a game that does not come back from a replay leaves what was replayed before it", () => {
  const order: ReplayEpisodes = {
    type: "replay_episodes",
    replay_id: 5,
    game: ORDER.game,
    episodes: [],
    budget_seconds: 2,
  };
  const replay = { equal: true, play_seconds: 0.5 } as EpisodeReplay;
  const { made, workers, answers, give } = checker();
  made.begin(order, 0, give);
  workers[0].says({ type: "replayed", replay });
  workers[0].says({ type: "phase", phase: "the replay of episode 1" });
  made.check(1 + 2_000 + GRACE_MS);
  expect(answers).toEqual([
    {
      type: "episodes_replayed",
      replay_id: 5,
      replays: [replay],
      problem:
        "the game did not come back within 7 s, during the replay of episode 1: a hang leaves no stack",
    },
  ]);
});

const EPISODE = { play: 0, index: 3 } as PlaytestEpisode;
const DRILLED = { kind: "leak" } as PlaytestDrilled;
const PLAYTEST = orderOf({ budget_seconds: 60 });

test("what was played and drilled is in the answer to a playtest", () => {
  const { made, workers, answers, give } = checker();
  made.begin(PLAYTEST, 0, give);
  workers[0].says({ type: "played", episode: EPISODE });
  workers[0].says({ type: "drilled", drilled: DRILLED });
  const answer: GamePlaytested = {
    type: "game_playtested",
    playtest_id: 4,
    episodes: [],
    drilled: [],
    description: null,
    left_out: [],
    problem: null,
    is_late: false,
    seconds: 2,
  };
  workers[0].says({ type: "answered", answer });
  expect(answers).toEqual([{ ...answer, episodes: [EPISODE], drilled: [DRILLED] }]);
});

test("a playtest that is silent for ten seconds is a hang, with what was played before it", () => {
  const { made, workers, answers, give } = checker();
  made.begin(PLAYTEST, 0, give);
  workers[0].says({ type: "played", episode: EPISODE });
  workers[0].says({ type: "phase", phase: "episode 4 of hold-2" });
  made.check(1_000);
  made.check(1_000 + PATIENCE_MS);
  expect(answers).toEqual([]);
  made.check(1_001 + PATIENCE_MS);
  expect(answers).toEqual([
    {
      type: "game_playtested",
      playtest_id: 4,
      episodes: [EPISODE],
      drilled: [],
      description: null,
      left_out: [],
      problem: "the game did not come back within 10 s, during episode 4 of hold-2: a hang leaves no stack",
      is_late: false,
      seconds: 1,
    },
  ]);
  expect(workers[0].isTerminated).toBe(true);
});

test("one that goes on is not, and what takes long by its nature has longer", () => {
  const { made, workers, answers, give } = checker();
  made.begin(PLAYTEST, 0, give);
  made.check(LOADING_MS);
  for (let now = 0; now < 60_000; now += 9_000) {
    workers[0].says({ type: "phase", phase: "episode 4 of hold-2" });
    made.check(now);
  }
  expect(answers).toEqual([]);
  made.begin(PLAYTEST, 0, give);
  workers[1].says({ type: "phase", phase: "the start of episode 0 of idle", patienceMs: LOADING_MS });
  made.check(0);
  made.check(LOADING_MS);
  expect(answers).toEqual([]);
  made.check(LOADING_MS + 1);
  expect(answers).toMatchObject([{ problem: expect.stringContaining("within 40 s, during the start of") }]);
});

test("after its budget a playtest has no more time than other orders", () => {
  const { made, workers, answers, give } = checker();
  made.begin({ ...PLAYTEST, budget_seconds: 2 }, 0, give);
  workers[0].says({ type: "phase", phase: "episode 4 of hold-2" });
  made.check(2_001 + GRACE_MS);
  expect(answers).toMatchObject([{ problem: expect.stringContaining("within 7 s") }]);
});

test("on a busy machine a playtest is waited for until it has had ten seconds of a processor", () => {
  const { made, workers, answers, give } = checker(3);
  made.begin(PLAYTEST, 0, give);
  workers[0].says({ type: "phase", phase: "episode 4 of hold-2" });
  made.check(0);
  made.check(PATIENCE_MS + 1);
  made.check(2 * PATIENCE_MS);
  made.check(3 * PATIENCE_MS - 1);
  expect(answers).toEqual([]);
  made.check(3 * PATIENCE_MS + 2_000);
  expect(answers).toMatchObject([{ problem: expect.stringContaining("within 10 s"), is_late: false }]);
});

test("where it cannot have that, nothing is said of the game", () => {
  const { made, workers, answers, give } = checker(20);
  made.begin({ ...PLAYTEST, budget_seconds: 2 }, 0, give);
  workers[0].says({ type: "phase", phase: "episode 4 of hold-2" });
  made.check(0);
  made.check(2_000 + GRACE_MS + BUSY_MS);
  expect(answers).toEqual([]);
  made.check(4_001 + GRACE_MS + BUSY_MS);
  expect(answers).toMatchObject([
    {
      problem:
        "the game did not come back within 54 s, during episode 4 of hold-2, on a machine so busy that " +
        "a thread takes 20.0 times as long",
      is_late: true,
    },
  ]);
});

test("on a busy machine a check is waited for as well, and what it is given up for is the machine", () => {
  const { made, answers, give } = checker(8);
  made.begin(ORDER, 0, give);
  made.check(2_001 + GRACE_MS);
  made.check(2_000 + GRACE_MS + BUSY_MS);
  expect(answers).toEqual([]);
  made.check(2_001 + GRACE_MS + BUSY_MS);
  const [{ findings }] = answers as GameChecked[];
  expect(findings).toMatchObject([
    {
      id: "late",
      severity: "error",
      text: expect.stringContaining("so busy that a thread takes 8.0 times as long"),
    },
  ]);
});

test("while a program outside is asked no time counts", () => {
  const { made, workers, answers, asks, give } = checker();
  made.begin({ ...PLAYTEST, budget_seconds: 2 }, 0, give);
  workers[0].says({ type: "phase", phase: "episode 0 of outside:bot" });
  made.check(1_000);
  const ask = {
    type: "ask" as const,
    run_id: null,
    order_id: 4,
    policy_id: "outside:bot",
    agent: [0],
    observation: {},
    action_mask: null,
  };
  workers[0].says(ask);
  made.check(90_000);
  made.check(90_001);
  expect([asks, answers]).toEqual([[ask], []]);
  const action = { dtype: "int32" as const, shape: [1], data: new Uint8Array(4) };
  const answer = { type: "answer" as const, run_id: null, order_id: 4, action };
  made.answer(answer);
  expect(workers[0].posted.at(-1)).toEqual(answer);
  made.check(90_000 + 1_000 + GRACE_MS);
  expect(answers).toEqual([]);
  made.check(90_002 + 1_000 + GRACE_MS);
  expect(answers).toMatchObject([{ problem: expect.stringContaining("within 96 s") }]);
});
