/** Copies of a game through their episodes, and what they are worth when they fail. */

import { cutStep } from "@attract/worker/game/desync";
import { FailureLimit, type FailureReport } from "@attract/worker/game/failures";
import { GameRunner, type GameRunnerOptions } from "@attract/worker/game/game-runner";
import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createSampler } from "@attract/worker/policy/sampler";
import type { GameDefinition } from "attract/contract";
import { describe, expect, test } from "vitest";
import { countingGame, lease, SEED } from "../support/counting-game.ts";
import { groupGame } from "../support/group-game.ts";

function made(definition: GameDefinition, fields: Partial<GameRunnerOptions> = {}) {
  const reports: FailureReport[] = [];
  const numAgents = definition.numAgents ?? 1;
  const { instanceIds = [7, 4] } = fields;
  const batch = new ObservationBatch(definition.observation, instanceIds.length * numAgents);
  const runner = new GameRunner({
    definition,
    instanceIds,
    memory: (i) => batch.memory(i * numAgents, numAgents),
    sampler: createSampler(definition.action, instanceIds.length * numAgents),
    failures: new FailureLimit(
      (report) => reports.push(report),
      () => 0,
    ),
    ...fields,
  });
  runner.open(lease());
  return { runner, reports, batch };
}

/** Throws in the given ticks of a copy, counted from its creation; copies by the order of creation. */
function failing(...places: [copy: number, tick: number][]): GameDefinition {
  return countingGame({
    onTick: (copy, tick) => {
      if (places.some(([c, t]) => c === copy && t === tick)) throw new RangeError("the ship sank");
      return undefined;
    },
  });
}

describe("a step", () => {
  test("E3: says why the episode is over; the next one starts in the same copy", () => {
    const { runner, batch } = made(countingGame({ terminateAt: 2 }));
    runner.start(0, 5);
    const game = runner.games[0];
    expect([runner.step(0, 0), runner.step(0, 0)]).toEqual([null, "terminated"]);
    expect(runner.result(0, "terminated", 1)).toMatchObject({
      instance_id: 7,
      episode: 5,
      step: 1,
      length_steps: 2,
      end_reason: "terminated",
    });
    runner.startNext(0, "terminated");
    expect(runner.games[0]).toBe(game);
    expect([game?.episode, game?.episodeSteps]).toEqual([6, 0]);
    // Two ticks since its creation, none since the start; nobody has touched the other copy.
    expect([...batch.arrays[0]]).toEqual([2, 0, 0, 0]);
    expect(runner.games[1]).toBeNull();
  });

  test("E7: of the first episode cuts it at the seed's step, and no later episode", () => {
    const { runner } = made(countingGame());
    runner.open(lease({ desync_steps: 20 }));
    const cut = cutStep(SEED, 4, 20);
    expect(cut).not.toBe(cutStep(SEED, 7, 20));
    runner.start(1, 0);
    for (let step = 1; step < cut; step++) expect(runner.step(1, 0)).toBeNull();
    expect(runner.step(1, 0)).toBe("cut");
    const game = runner.games[1]!;
    expect([game.episodeOver, game.truncated[0], game.terminated[0], game.active[0]]).toEqual([
      true,
      1,
      0,
      0,
    ]);
    runner.startNext(1, "cut");
    for (let step = 1; step <= 20; step++) expect(runner.step(1, 0)).toBeNull();
  });

  test("E7: that ends the episode by itself is not cut", () => {
    const { runner } = made(countingGame({ terminateAt: 3 }));
    runner.open(lease({ max_episode_steps: 3 }));
    runner.start(0, 0);
    expect([runner.step(0, 0), runner.step(0, 0), runner.step(0, 0)]).toEqual([null, null, "terminated"]);
    expect([runner.games[0]?.terminated[0], runner.games[0]?.truncated[0]]).toEqual([1, 0]);
  });

  test("E7, E9: that is cut truncates only those who play", () => {
    const game = groupGame({ onStep: (_, step) => (step === 1 ? { terminated: [false, true, false] } : {}) });
    const { runner } = made(game);
    runner.open(lease({ max_episode_steps: 2 }));
    runner.start(0, 0);
    const actions = [0, 0, 0];
    expect([runner.step(0, actions), runner.step(0, actions)]).toEqual([null, "cut"]);
    expect([...runner.games[0]!.truncated]).toEqual([1, 0, 1]);
    expect([...runner.games[0]!.valid]).toEqual([1, 0, 1]);
  });

  test("names whose turn it is before a game's start and before each of its steps", () => {
    const turns: number[] = [];
    const { runner } = made(countingGame({ terminateAt: 1 }), { announce: (id) => turns.push(id) });
    runner.start(0, 0);
    runner.start(1, 0);
    runner.startNext(1, runner.step(1, 0)!);
    expect(turns).toEqual([7, 4, 4, 4]);
    runner.announce = null;
    runner.step(0, 0);
    expect(turns).toHaveLength(4);
  });
});

describe("C6: parameters and lesson", () => {
  test("C6: hold from the next start on", () => {
    const sizes: number[] = [];
    const game = countingGame({ terminateAt: 1 });
    const definition: GameDefinition = {
      ...game,
      parameters: { size: { default: 5, low: 1, high: 9 } },
      create: () => {
        const inner = game.create();
        return {
          start(context) {
            sizes.push(context.parameters.size);
            return inner.start(context);
          },
          update: inner.update.bind(inner),
        };
      },
    };
    const { runner } = made(definition);
    runner.start(0, 0);
    runner.open(lease({ lesson_id: "large", parameters: { size: { kind: "constant", values: [8] } } }));
    const ending = runner.step(0, 0)!;
    expect(runner.result(0, ending, 0).lesson_id).toBeNull();
    runner.startNext(0, ending);
    expect(sizes).toEqual([5, 8]);
    expect(runner.result(0, "cut", 0).lesson_id).toBe("large");
  });
});

describe("a game that fails", () => {
  test("S5: in a step is reported with its place, and goes on as a fresh copy with the next episode", () => {
    const { runner, reports } = made(failing([0, 3]));
    runner.start(0, 2);
    const broken = runner.games[0];
    expect([runner.step(0, 0), runner.step(0, 1), runner.step(0, 1)]).toEqual([null, null, "failed"]);
    // The step counts for nobody.
    expect(runner.result(0, "failed", 1)).toMatchObject({ end_reason: "cut", length_steps: 2, returns: [3] });
    runner.startNext(0, "failed");
    expect(runner.games[0]).not.toBe(broken);
    expect(runner.games[0]?.episode).toBe(3);
    expect(reports).toMatchObject([
      { kind: "throw", instance_id: 7, slot_id: 7, episode: 2, tick: 3, seed: SEED, lease_id: 1 },
    ]);
    expect(reports[0].step_values).toMatch(/^action 1, /);
    expect(runner.step(0, 0)).toBeNull();
  });

  test("at a start is replaced too, and tried with the next episode", () => {
    const { create, ...game } = countingGame();
    let copies = 0;
    const definition = {
      ...game,
      create: () => {
        const copy = copies++;
        const inner = create();
        return {
          start(context: Parameters<typeof inner.start>[0]) {
            if (copy < 2) throw new RangeError("no level");
            return inner.start(context);
          },
          update: inner.update.bind(inner),
        };
      },
    };
    const { runner, reports } = made(definition);
    runner.start(0, 4);
    expect(runner.games[0]?.episode).toBe(6);
    expect(copies).toBe(3);
    expect(reports.map(({ episode, tick }) => [episode, tick])).toEqual([
      [4, 0],
      [5, 0],
    ]);
  });

  test("when it is made is reported the same way, and leaves no copy", () => {
    const game = countingGame();
    const create = (): never => {
      throw new RangeError("no memory left");
    };
    const { runner, reports } = made({ ...game, create });
    expect(runner.tryStart(0, 0)).toBe(false);
    expect(runner.games[0]).toBeNull();
    expect(reports).toMatchObject([{ kind: "throw", instance_id: 7, episode: 0, tick: 0 }]);
    expect(() => runner.start(0, 1)).toThrow(/failed 10 times/);
    expect(reports.map(({ episode }) => episode)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("is told from a mistake of ours, which is thrown on", () => {
    const { runner, reports } = made(countingGame());
    runner.start(0, 0);
    runner.games[0]!.cut();
    // Nobody may step a game whose episode is over.
    expect(() => runner.step(0, 0)).toThrow(/expects a running episode/);
    expect(reports).toEqual([]);
  });
});

test("a place may be given to another instance: a fresh copy, from that one's streams", () => {
  const { runner, batch } = made(countingGame());
  runner.start(0, 0);
  runner.step(0, 0);
  runner.assign(0, 30);
  runner.start(0, 0);
  expect(runner.games[0]?.instanceId).toBe(30);
  // The second that was created.
  expect([...batch.arrays[0]].slice(0, 2)).toEqual([1000, 0]);
  runner.start(1, 0);
  runner.clearAll();
  expect(runner.games).toEqual([null, null]);
});
