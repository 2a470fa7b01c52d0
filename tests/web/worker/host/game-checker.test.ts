import type { CheckGame, EpisodeReplay, GameChecked, ReplayEpisodes } from "@attract/schema";
import type { GameThread } from "@attract/worker/game/game-thread";
import {
  type CheckNews,
  failedCheck,
  type GameAnswer,
  GameChecker,
  GRACE_MS,
} from "@attract/worker/host/game-checker";
import { expect, test } from "vitest";

const ORDER: CheckGame = {
  type: "check_game",
  random_episodes: null,
  record: false,
  parameters: {},
  check_id: 3,
  game: { name: "catch.ts", sha256: "0".repeat(64), url: "games/x.js", has_page: false },
  budget_seconds: 2,
};
class FakeWorker {
  readonly posted: unknown[] = [];
  onmessage: ((event: MessageEvent<CheckNews>) => void) | null = null;
  onerror: GameThread["onerror"] = null;
  isTerminated = false;
  postMessage(message: unknown): void {
    this.posted.push(message);
  }
  terminate(): void {
    this.isTerminated = true;
  }
  says(news: CheckNews): void {
    this.onmessage?.({ data: news } as MessageEvent<CheckNews>);
  }
}

function checker() {
  const workers: FakeWorker[] = [];
  const answers: GameAnswer[] = [];
  const made = new GameChecker(() => {
    workers.push(new FakeWorker());
    return workers.at(-1) as GameThread;
  });
  return { made, workers, answers, give: (answer: GameAnswer) => void answers.push(answer) };
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
