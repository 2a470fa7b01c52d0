/** Evaluation on fresh games with streams of their own. */

import type { FailureReport } from "@attract/worker/game/failures";
import type { ObservationBatch } from "@attract/worker/game/observation-batch";
import { RandomPolicy } from "@attract/worker/policy/policy";
import { type EvaluationOptions, evaluate, MAX_EVALUATION_GAMES } from "@attract/worker/rollout/evaluate";
import { defineGame } from "attract/define-game";
import { ActionRandom } from "attract/random";
import { box, discrete } from "attract/spaces";
import { describe, expect, test } from "vitest";
import { countingGame, createLoop, FakePolicy, lease, SEED, seat } from "../support/counting-game.ts";
import { CountingPolicy, groupGame } from "../support/group-game.ts";

const OPTIONS: Omit<EvaluationOptions, "definition"> = {
  stateSize: 0,
  yieldTurn: () => Promise.resolve(),
  now: () => 0,
  failed: () => undefined,
  recorded: () => undefined,
  isVoid: () => false,
  progressed: () => undefined,
};

function orders(count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({ index: from + i }));
}

/** Each episode's length is drawn at its start from the game's own stream. */
const randomLength = defineGame({
  id: "RandomLength-v1",
  tickSeconds: 1,
  observation: box({ shape: [1] }),
  action: discrete(3),
  create: () => {
    let left = 0;
    return {
      start({ random }) {
        left = 1 + random.int(40);
        return [left];
      },
      update: (_, action: never) => ({
        observation: [--left],
        reward: 1 + Number(action),
        terminated: left === 0,
      }),
    };
  },
});

function evaluation(count: number, from = 0, deterministic = false) {
  const seats = [{ ...lease().seats[0], deterministic }];
  return lease({ purpose: "evaluate", num_segments: 0, episodes: orders(count, from), seats });
}

describe("an evaluation", () => {
  test("gives one result per order, in that order, each played to its end", async () => {
    const result = await evaluate(evaluation(300), [new FakePolicy(128, 3)], {
      ...OPTIONS,
      definition: randomLength,
    });
    expect(result?.episodes.map((episode) => episode.instance_id)).toEqual(
      orders(300).map(({ index }) => index),
    );
    expect(new Set(result?.episodes.map((episode) => episode.end_reason))).toEqual(new Set(["terminated"]));
    const lengths = result!.episodes.map((episode) => episode.length_steps);
    expect(new Set(lengths).size).toBeGreaterThan(20);
    expect(result?.policy_version).toBe(3);
  });

  test("C5: an episode depends on its index alone, not on its neighbours or row", async () => {
    const definition = randomLength;
    const all = await evaluate(evaluation(200), [new FakePolicy(128, 3)], { ...OPTIONS, definition });
    for (const index of [0, 63, 150, 199]) {
      const alone = await evaluate(evaluation(1, index), [new FakePolicy(128, 3)], {
        ...OPTIONS,
        definition,
      });
      expect(alone?.episodes).toEqual([all?.episodes[index]]);
    }
    const other = { ...evaluation(200), seed: { low: 1, high: 1 } };
    const differs = await evaluate(other, [new FakePolicy(128, 3)], { ...OPTIONS, definition });
    expect(differs?.episodes).not.toEqual(all?.episodes);
  });

  test("C5: its slot is index, its episode 0: the actions are those of a training slot of that number", async () => {
    const taken: number[] = [];
    const definition = defineGame({
      id: "Actions-v1",
      tickSeconds: 1,
      observation: box({ shape: [2] }),
      action: discrete(5),
      create: () => ({
        start: () => [0, 0],
        update: (_, action: never) => ({
          observation: [0, 0],
          reward: 0,
          terminated: taken.push(action) === 20,
        }),
      }),
    });
    await evaluate(evaluation(1, 6), [new FakePolicy(1, 5)], { ...OPTIONS, definition });
    const evaluated = taken.splice(0);
    const loop = createLoop(definition, { seat: seat({ instance_ids: [6], horizon: 20 }) });
    await loop.play(lease(), new FakePolicy(1, 5));
    expect(new Set(evaluated).size).toBe(5);
    expect(taken).toEqual(evaluated);
  });

  test("deterministic takes the most probable action", async () => {
    const policy = new FakePolicy(8, 3);
    for (let row = 0; row < 8; row++) policy.logits[3 * row + 2] = 1;
    const result = await evaluate(evaluation(8, 0, true), [policy], { ...OPTIONS, definition: randomLength });
    for (const { returns, length_steps } of result!.episodes) expect(returns[0]).toBe(3 * length_steps);
  });

  test("an episode without an end stops at max_episode_steps, as cut", async () => {
    const endless = { ...evaluation(2), max_episode_steps: 7 };
    const result = await evaluate(endless, [new FakePolicy(4)], { ...OPTIONS, definition: countingGame() });
    expect(result?.episodes).toMatchObject([
      { length_steps: 7, end_reason: "cut" },
      { length_steps: 7, end_reason: "cut" },
    ]);
  });

  test("a broken game is reported with index and seed, its episode is cut, the others go on", async () => {
    const reports: FailureReport[] = [];
    const definition = countingGame({
      terminateAt: 5,
      onTick: (instance, tick) =>
        instance === 1 && tick === 3 ? { reward: Number.POSITIVE_INFINITY } : undefined,
    });
    const result = await evaluate(evaluation(3, 10), [new FakePolicy(4)], {
      ...OPTIONS,
      definition,
      failed: (report) => reports.push(report),
    });
    expect(result?.episodes.map(({ end_reason, length_steps }) => [end_reason, length_steps])).toEqual([
      ["terminated", 5],
      ["cut", 2],
      ["terminated", 5],
    ]);
    expect(reports).toMatchObject([{ kind: "nan", instance_id: 11, tick: 3, seed: SEED }]);
  });

  test("a game that cannot be made is reported, its episode is cut before it began, the others go on", async () => {
    const reports: FailureReport[] = [];
    const game = countingGame({ terminateAt: 5 });
    let made = 0;
    const create = () => {
      if (made++ === 1) throw new RangeError("no memory left");
      return game.create();
    };
    const result = await evaluate(evaluation(3, 10), [new FakePolicy(4)], {
      ...OPTIONS,
      definition: { ...game, create },
      failed: (report) => reports.push(report),
    });
    expect(
      result?.episodes.map((one) => [one.instance_id, one.end_reason, one.length_steps, one.returns.length]),
    ).toEqual([
      [10, "terminated", 5, 1],
      [11, "cut", 0, 1],
      [12, "terminated", 5, 1],
    ]);
    expect(reports).toMatchObject([{ kind: "throw", instance_id: 11, tick: 0, seed: SEED }]);
  });

  test("is given up when its lease is void", async () => {
    let asked = 0;
    const options = { ...OPTIONS, definition: countingGame(), isVoid: () => ++asked > 3 };
    expect(await evaluate(evaluation(2), [new FakePolicy(4)], options)).toBeNull();
  });

  test("hostile 3: tells the steps that its games have taken, which grow to the end", async () => {
    const steps: number[] = [];
    const options = {
      ...OPTIONS,
      definition: countingGame({ terminateAt: 3 }),
      progressed: (n: number) => steps.push(n),
    };
    await evaluate(evaluation(2), [new FakePolicy(4)], options);
    expect(steps).toEqual([1, 2, 3]);
    steps.length = 0;
    await evaluate(evaluation(MAX_EVALUATION_GAMES + 1), [new FakePolicy(MAX_EVALUATION_GAMES)], options);
    expect(steps).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe("an evaluation of several agents", () => {
  const seats = [lease().seats[0], lease().seats[0], lease().seats[0]];
  const order = { ...evaluation(5, 20), seats };

  test("E9: tells a return per agent, whoever ended first; each index is three slots of the action streams", async () => {
    const taken = new Map<number, (number | number[])[][]>();
    const game = groupGame({
      onStep: (_, step) =>
        step === 2 ? { terminated: [false, true, false] } : step === 4 ? { terminated: true } : undefined,
      acted: (instance, actions) => taken.set(instance, [...(taken.get(instance) ?? []), actions]),
    });
    const result = await evaluate(order, [new CountingPolicy(15)], {
      ...OPTIONS,
      stateSize: 2,
      definition: game,
    });
    const random = new ActionRandom(1, 1);
    for (const [i, { returns, length_steps, instance_id }] of result!.episodes.entries()) {
      expect([instance_id, length_steps]).toEqual([20 + i, 4]);
      const expected = [0, 1, 2].map((agent) => {
        random.setEpisode(0, SEED.low, SEED.high, 3 * (20 + i) + agent, 0);
        const numSteps = agent === 1 ? 2 : 4;
        const actions = Array.from({ length: numSteps }, (_, t) => (random.uniform(0, t, 0) < 0.5 ? 0 : 1));
        return actions.reduce<number>((sum, action) => sum + 1 + agent + 10 * action, 0);
      });
      expect(returns).toEqual(expected);
      expect(taken.get(i)?.[3][1]).toBe(0);
    }
  });

  test("S4: each episode begins without memory, and an agent that comes back has lost its own", async () => {
    const seen: number[][] = [];
    class Noting extends CountingPolicy {
      override run(batch: ObservationBatch, rows: number): Promise<void> {
        seen.push(Array.from({ length: 3 }, (_, row) => batch.states[2 * row]));
        return super.run(batch, rows);
      }
    }
    const game = groupGame({
      onStep: (_, step) => {
        if (step === 2) return { terminated: [false, true, false] };
        if (step === 3) return { active: [true, true, true] };
        return step === 5 ? { truncated: true } : undefined;
      },
    });
    // One game at a time: the second takes the place of the first.
    const one = { ...order, episodes: orders(1) };
    const policy = new Noting(3);
    await evaluate(one, [policy], { ...OPTIONS, stateSize: 2, definition: game });
    expect(seen).toEqual([
      [0, 0, 0],
      [1, 1, 1],
      [2, 0, 2],
      [3, 0, 3],
      [4, 1, 4],
    ]);
    seen.length = 0;
    const many = { ...order, episodes: orders(130) };
    await evaluate(many, [new Noting(3 * 128)], { ...OPTIONS, stateSize: 2, definition: game });
    expect(seen.slice(4, 6)).toEqual([
      [4, 1, 4],
      [0, 0, 0],
    ]);
  });

  test("E9: named policies play their own seats; the result names the first that is no script", async () => {
    const hunter = new CountingPolicy(15, "hunter", 9, 0);
    const prey = new CountingPolicy(15, "prey", 4, 0);
    // Hunters take action 1, prey action 0.
    for (let row = 0; row < 15; row++) {
      hunter.outputs[0][2 * row + 1] = 60;
      prey.outputs[0][2 * row] = 60;
    }
    const game = groupGame({ onStep: (_, step) => (step === 3 ? { done: true } : undefined) });
    const random = new RandomPolicy("main", 0, 15);
    const scripted = [{ ...seats[0], script: "random" as const }, seats[1], seats[2]];
    const result = await evaluate({ ...order, seats: scripted }, [random, prey, hunter], {
      ...OPTIONS,
      definition: game,
    });
    for (const { returns } of result!.episodes) expect(returns.slice(1)).toEqual([6, 39]);
    expect(new Set(result!.episodes.map(({ returns }) => returns[0])).size).toBeGreaterThan(1);
    expect(result?.policy_version).toBe(4);
  });
});

test("E5: an evaluation between two leases leaves the training games where they were", async () => {
  const definition = countingGame({ terminateAt: 6 });
  const firsts: number[] = [];
  const loop = createLoop(definition, { emit: (frame) => firsts.push(frame.segmentIndex) });
  await loop.play(lease(), new FakePolicy(4));
  const before = [...loop.batch.arrays[0]];
  await evaluate(evaluation(5), [new FakePolicy(8)], { ...OPTIONS, definition });
  expect([...loop.batch.arrays[0]]).toEqual(before);
});
