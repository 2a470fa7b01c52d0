/** Several agents, masks and memories in the rollout loop: who decides, what is remembered, and what is stored of it. */

import { float32View, int32View } from "@attract/schema";
import type { Out, StartContext, UpdateResult } from "attract/contract";
import { defineGame } from "attract/define-game";
import { ActionRandom } from "attract/random";
import { box, discrete, multiDiscrete } from "attract/spaces";
import { describe, expect, test } from "vitest";
import { byteRows, collect, floatRows } from "../support/collected.ts";
import { countingGame, createLoop, lease, SEED, seat } from "../support/counting-game.ts";
import { episodesOf } from "../support/episodes.ts";
import { CountingPolicy, groupGame } from "../support/group-game.ts";

const SEAT = lease().seats[0];

function seatsOf(count: number, fields: Partial<typeof SEAT> = {}) {
  return Array.from({ length: count }, () => ({ ...SEAT, ...fields }));
}

/** Agent 1 terminates in step 2 and is active again from step 4 on (told in step 3). */
function dyingAgent(_: number, sinceStart: number): Partial<UpdateResult> | undefined {
  if (sinceStart === 2) return { terminated: [false, true, false] };
  if (sinceStart === 3) return { active: [true, true, true] };
  return undefined;
}

describe("E9: several agents", () => {
  test("E9: slots are instance-major, agents inside", async () => {
    const seen = collect();
    const options = { ...seen, seat: seat({ instance_ids: [4, 9] }) };
    const close = await createLoop(groupGame(), options).play(
      lease({ seats: seatsOf(3) }),
      new CountingPolicy(6),
    );
    const [block] = seen.blocks();
    expect([...int32View(block.slot_id)]).toEqual([12, 13, 14, 27, 28, 29]);
    expect([...int32View(close!.slot_id)]).toEqual([12, 13, 14, 27, 28, 29]);
    expect(floatRows(block.observation.obs)[1]).toEqual([1, 101, 201, 1001, 1101, 1201]);
    expect(floatRows(block.bootstrap_observation.obs).flat()).toEqual([4, 104, 204, 1004, 1104, 1204]);
  });

  test("E9: an ended agent's steps are invalid, without reward and action, until it is active again", async () => {
    const seen = collect();
    const acted: (number | number[])[][] = [];
    const game = groupGame({ onStep: dyingAgent, acted: (_, actions) => acted.push(actions) });
    const policy = new CountingPolicy(3);
    // Always action 1.
    for (let row = 0; row < 3; row++) policy.outputs[0][2 * row + 1] = 50;
    const options = { ...seen, seat: seat({ instance_ids: [0], horizon: 5 }) };
    await createLoop(game, options).play(lease({ seats: seatsOf(3) }), policy);
    const [block] = seen.blocks();
    expect(byteRows(block.valid)).toEqual([
      [1, 1, 1],
      [1, 1, 1],
      [1, 0, 1],
      [1, 1, 1],
      [1, 1, 1],
    ]);
    expect(byteRows(block.terminated).map((flags) => flags[1])).toEqual([0, 1, 0, 0, 0]);
    expect(byteRows(block.truncated).flat()).toEqual(new Array(15).fill(0));
    expect(floatRows(block.reward)).toEqual([
      [11, 12, 13],
      [11, 12, 13],
      [11, 0, 13],
      [11, 12, 13],
      [11, 12, 13],
    ]);
    expect(acted.map((actions) => actions[1])).toEqual([1, 1, 0, 1, 1]);
    expect([...int32View(block.action)].filter((_, i) => i % 3 === 1)).toEqual([1, 1, 0, 1, 1]);
    expect(float32View(block.log_prob)[7]).toBe(0);
    expect(float32View(block.value)[7]).toBe(0);
    expect(block.executed_ticks.data[2 * 7]).toBe(0);
    expect(episodesOf(block)).toEqual([]);
  });

  test("E9: its actions afterwards are those of its step, as if it had been there all along", async () => {
    const acted: (number | number[])[][] = [];
    const game = groupGame({ onStep: dyingAgent, acted: (_, actions) => acted.push(actions) });
    const loop = createLoop(game, { seat: seat({ instance_ids: [2], horizon: 40 }) });
    await loop.play(lease({ seats: seatsOf(3) }), new CountingPolicy(3));
    const random = new ActionRandom(1, 1);
    for (let agent = 0; agent < 3; agent++) {
      random.setEpisode(0, SEED.low, SEED.high, 3 * 2 + agent, 0);
      // Two equal logits: action 1 from a uniform of 0.5 on.
      const expected = Array.from({ length: 40 }, (_, step) => (random.uniform(0, step, 0) < 0.5 ? 0 : 1));
      if (agent === 1) expected[2] = 0;
      expect(acted.map((actions) => actions[agent])).toEqual(expected);
    }
  });

  test("C5, E9: agents of several games draw from streams of their own, whoever decides for them", async () => {
    const acted: number[][][] = [[], []];
    const game = groupGame({ acted: (instance, actions) => acted[instance].push(actions as number[]) });
    const loop = createLoop(game, { seat: seat({ instance_ids: [2, 5], horizon: 40, state_size: 2 }) });
    const hunter = new CountingPolicy(6, "hunter");
    await loop.play(lease({ seats: seatsOf(3) }), hunter, new CountingPolicy(6, "prey"), hunter);
    const random = new ActionRandom(1, 1);
    for (const [i, instanceId] of [2, 5].entries()) {
      for (let agent = 0; agent < 3; agent++) {
        random.setEpisode(0, SEED.low, SEED.high, 3 * instanceId + agent, 0);
        const expected = Array.from({ length: 40 }, (_, step) => (random.uniform(0, step, 0) < 0.5 ? 0 : 1));
        expect(acted[i].map((actions) => actions[agent])).toEqual(expected);
      }
    }
  });

  test("E9: row r of a policy's outputs decides for its own slot r, by choice or by chance", async () => {
    for (const deterministic of [false, true]) {
      const acted: number[][][] = [[], []];
      const game = groupGame({ acted: (instance, actions) => acted[instance].push(actions as number[]) });
      const hunter = new CountingPolicy(6, "hunter");
      const prey = new CountingPolicy(6, "prey");
      // As good as certain: row r of the hunters takes action r mod 2, of the prey the other one.
      for (let row = 0; row < 6; row++) {
        hunter.outputs[0][2 * row + (row % 2)] = 60;
        prey.outputs[0][2 * row + ((row + 1) % 2)] = 60;
      }
      const loop = createLoop(game, { seat: seat({ instance_ids: [0, 1], state_size: 2 }) });
      await loop.play(lease({ seats: seatsOf(3, { deterministic }) }), hunter, prey, hunter);
      // Hunters are slots 0, 2, 3 and 5, prey 1 and 4.
      expect(acted[0]).toEqual(new Array(4).fill([0, 1, 1]));
      expect(acted[1]).toEqual(new Array(4).fill([0, 0, 1]));
    }
  });

  test("P6, E9: a seat that takes the most probable action does so under a policy of its own too", async () => {
    const acted: number[][] = [];
    const game = groupGame({ acted: (_, actions) => acted.push(actions as number[]) });
    const seats = [SEAT, { ...SEAT, deterministic: true }, SEAT];
    const loop = createLoop(game, { seat: seat({ instance_ids: [0, 1], horizon: 20, state_size: 2 }) });
    const hunter = new CountingPolicy(6, "hunter");
    await loop.play(lease({ seats }), hunter, new CountingPolicy(6, "prey"), hunter);
    const taken = [0, 1, 2].map((agent) => new Set(acted.map((actions) => actions[agent])));
    expect(taken).toEqual([new Set([0, 1]), new Set([0]), new Set([0, 1])]);
  });

  test("E9: the game starts again when all have ended, and tells one return per agent", async () => {
    const seen = collect();
    const ends: Record<number, Partial<UpdateResult>> = {
      1: { terminated: [true, false, false] },
      3: { terminated: [false, true, true] },
    };
    const game = groupGame({ onStep: (_, step) => ends[step] });
    const seats = seatsOf(3, { deterministic: true });
    await createLoop(game, { ...seen, seat: seat({ instance_ids: [5] }) }).play(
      lease({ seats }),
      new CountingPolicy(3),
    );
    const [block] = seen.blocks();
    expect(byteRows(block.valid)).toEqual([
      [1, 1, 1],
      [0, 1, 1],
      [0, 1, 1],
      [1, 1, 1],
    ]);
    expect(byteRows(block.terminated)).toEqual([
      [1, 0, 0],
      [0, 0, 0],
      [0, 1, 1],
      [1, 0, 0],
    ]);
    // Action 0: rewards 1, 2 and 3 a step, for 1, 3 and 3 steps.
    expect(episodesOf(block)).toMatchObject([
      { instance_id: 5, episode: 0, step: 2, length_steps: 3, returns: [1, 6, 9], end_reason: "terminated" },
    ]);
  });

  test("E9: a game that stops itself truncates whoever still plays, each valued at what it saw last", async () => {
    const seen = collect();
    const game = groupGame({
      onStep: (_, step) =>
        step === 1 ? { terminated: [false, true, false] } : step === 2 ? { truncated: true } : undefined,
    });
    const options = { ...seen, seat: seat({ instance_ids: [0], horizon: 3, state_size: 2 }) };
    await createLoop(game, options).play(lease({ seats: seatsOf(3) }), new CountingPolicy(3));
    const [block] = seen.blocks();
    expect(byteRows(block.truncated)).toEqual([
      [0, 0, 0],
      [1, 0, 1],
      [0, 0, 0],
    ]);
    const finals = block.final_observations!;
    expect([...int32View(finals.step)]).toEqual([1, 1]);
    expect([...int32View(finals.column)]).toEqual([0, 2]);
    expect(floatRows(finals.observation.obs)).toEqual([[2], [202]]);
    expect([...float32View(finals.value)]).toEqual([20_002, 20_202]);
  });

  test("E9: an agent that is sent away without an end was truncated", async () => {
    const seen = collect();
    const game = groupGame({
      onStep: (_, step) => (step === 2 ? { active: [true, false, true] } : undefined),
    });
    await createLoop(game, { ...seen, seat: seat({ instance_ids: [0] }) }).play(
      lease({ seats: seatsOf(3) }),
      new CountingPolicy(3),
    );
    const [block] = seen.blocks();
    expect(byteRows(block.truncated).map((flags) => flags[1])).toEqual([0, 1, 0, 0]);
    expect(byteRows(block.valid).map((flags) => flags[1])).toEqual([1, 1, 0, 0]);
    expect([...int32View(block.final_observations!.column)]).toEqual([1]);
  });

  test("E7, E9: a cut truncates only those who play", async () => {
    const seen = collect();
    const game = groupGame({
      onStep: (_, step) => (step === 1 ? { terminated: [false, true, false] } : undefined),
    });
    const options = { ...seen, seat: seat({ instance_ids: [0], horizon: 30 }) };
    await createLoop(game, options).play(
      lease({ seats: seatsOf(3), desync_steps: 20 }),
      new CountingPolicy(3),
    );
    const [block] = seen.blocks();
    const [cut] = episodesOf(block);
    expect(cut).toMatchObject({ end_reason: "cut" });
    expect(cut.length_steps).toBeGreaterThan(1);
    expect(byteRows(block.truncated)[cut.step]).toEqual([1, 0, 1]);
    expect(byteRows(block.valid)[cut.step]).toEqual([1, 0, 1]);
  });

  test("S5: a game that breaks makes the step invalid for all of its agents and truncates the step before", async () => {
    const seen = collect();
    const game = groupGame({
      onStep: (instance, step) => {
        if (instance === 0 && step === 1) return { terminated: [false, false, true] };
        return instance === 0 && step === 3 ? { reward: [1, Number.NaN, 1] } : undefined;
      },
    });
    const options = { ...seen, seat: seat({ instance_ids: [7], state_size: 2 }) };
    await createLoop(game, options).play(lease({ seats: seatsOf(3) }), new CountingPolicy(3));
    const [block] = seen.blocks();
    expect(byteRows(block.valid)[2]).toEqual([0, 0, 0]);
    expect(byteRows(block.truncated)[1]).toEqual([1, 1, 0]);
    const finals = block.final_observations!;
    expect(floatRows(finals.observation.obs)).toEqual([[2], [102]]);
    // Two steps are remembered where the failed one began.
    expect(floatRows(finals.recurrent_state.state)).toEqual([
      [2, -2],
      [2, -2],
    ]);
    expect(floatRows(block.value)[3]).toEqual([1000, 1100, 1200]);
    expect(episodesOf(block)).toMatchObject([{ end_reason: "cut", length_steps: 2, step: 1 }]);
    expect(episodesOf(block)[0].returns).toHaveLength(3);
    expect(seen.reports).toMatchObject([{ kind: "nan", instance_id: 7, slot_id: 21 }]);
  });

  test("a lease with another number of seats than the game has agents is refused", async () => {
    const loop = createLoop(groupGame());
    await expect(loop.play(lease(), new CountingPolicy(9))).rejects.toThrow(
      /lease 1 has 1 seats and 1 policies, the game has 3 agents/,
    );
  });
});

describe("S3, S4: memory", () => {
  const RECURRENT = { state_size: 2 };

  /** What each step's value says of the steps that were remembered before it: [horizon][slots]. */
  const remembered = (rows: number[][]) => rows.map((row) => row.map((value) => Math.floor(value / 10_000)));

  test("S3: a segment carries the state before its first step, across rollouts and versions", async () => {
    const seen = collect();
    const loop = createLoop(countingGame(), { ...seen, seat: seat(RECURRENT) });
    await loop.play(lease({ num_segments: 2 }), new CountingPolicy(4));
    await loop.play(lease({ lease_id: 2 }), new CountingPolicy(4, "main", 4));
    const blocks = seen.blocks();
    expect(blocks.map((block) => block.policy_version)).toEqual([3, 3, 4]);
    expect(blocks.map((block) => floatRows(block.recurrent_state.state)[1])).toEqual([
      [0, 0],
      [4, -4],
      [8, -8],
    ]);
    expect(blocks.map((block) => remembered(floatRows(block.value)).map(([first]) => first))).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9, 10, 11],
    ]);
  });

  test("E4: a bootstrap value is read with the state after the last step, which it does not advance", async () => {
    const seen = collect();
    const loop = createLoop(countingGame(), { ...seen, seat: seat({ ...RECURRENT, instance_ids: [0] }) });
    await loop.play(lease({ num_segments: 2 }), new CountingPolicy(4));
    const [first, second] = seen.blocks();
    // Four steps remembered, at observation 4; and the same again as the next segment's first value.
    expect(float32View(first.bootstrap_value)[0]).toBe(40_004);
    expect(float32View(second.value)[0]).toBe(40_004);
    expect(floatRows(second.recurrent_state.state)).toEqual([[4, -4]]);
  });

  test("S4: memory begins anew after a termination, and after a truncation, but not before its value is read", async () => {
    for (const end of ["terminateAt", "truncateAt"] as const) {
      const seen = collect();
      const loop = createLoop(countingGame({ [end]: 3 }), { ...seen, seat: seat(RECURRENT) });
      await loop.play(lease({ num_segments: 2 }), new CountingPolicy(4));
      const [first, second] = seen.blocks();
      expect(remembered(floatRows(first.value)).map((row) => row[2])).toEqual([0, 1, 2, 0]);
      expect(remembered(floatRows(second.value)).map((row) => row[2])).toEqual([1, 2, 0, 1]);
      expect(floatRows(second.recurrent_state.state)[2]).toEqual([1, -1]);
      if (end === "terminateAt") continue;
      const finals = first.final_observations!;
      expect(floatRows(finals.recurrent_state.state)).toEqual([
        [3, -3],
        [3, -3],
        [3, -3],
      ]);
      expect([...float32View(finals.value)]).toEqual([30_003, 31_003, 32_003]);
    }
  });

  test("S4: memory begins anew after a cut", async () => {
    const seen = collect();
    const loop = createLoop(countingGame(), { ...seen, seat: seat({ ...RECURRENT, horizon: 30 }) });
    await loop.play(lease({ desync_steps: 20 }), new CountingPolicy(4));
    const [block] = seen.blocks();
    const values = remembered(floatRows(block.value));
    expect(episodesOf(block)).toHaveLength(3);
    for (const { instance_id, step } of episodesOf(block)) {
      expect(values[step][instance_id]).toBe(step);
      expect(values[step + 1][instance_id]).toBe(0);
    }
  });

  test("S4, E9: an agent that comes back has forgotten; the others have not", async () => {
    const seen = collect();
    const options = { ...seen, seat: seat({ ...RECURRENT, instance_ids: [0], horizon: 5 }) };
    await createLoop(groupGame({ onStep: dyingAgent }), options).play(
      lease({ seats: seatsOf(3) }),
      new CountingPolicy(3),
    );
    expect(remembered(floatRows(seen.blocks()[0].value))).toEqual([
      [0, 0, 0],
      [1, 1, 1],
      [2, 0, 2],
      [3, 0, 3],
      [4, 1, 4],
    ]);
  });

  test("P7: what was seen in the warm-up is not remembered", async () => {
    const seen = collect();
    const loop = createLoop(countingGame(), { ...seen, seat: seat(RECURRENT) });
    await loop.play(lease({ purpose: "warmup" }), new CountingPolicy(4));
    await loop.play(lease({ lease_id: 2 }), new CountingPolicy(4));
    expect(floatRows(seen.blocks()[1].recurrent_state.state)[0]).toEqual([0, 0]);
  });
});

describe("masks", () => {
  /** Two components of 2 and 3 choices; in step t only (t mod 2, t mod 3) is allowed. */
  const masked = defineGame({
    id: "Masked-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [1] }),
    action: multiDiscrete([2, 3]),
    actionMask: true,
    create: () => {
      let t = 0;
      const allow = (mask: Uint8Array): void => {
        mask.fill(0);
        mask[t % 2] = 1;
        mask[2 + (t % 3)] = 1;
      };
      return {
        start({ out }: StartContext) {
          t = 0;
          allow(out.actionMask!);
          return [t];
        },
        update(_: number, action: ArrayLike<number>, out: Out) {
          const isRight = action[0] === t % 2 && action[1] === t % 3;
          t++;
          if (t < 9) allow(out.actionMask!);
          else out.actionMask!.fill(0);
          return { observation: [t], reward: isRight ? 1 : 0, terminated: t === 9 };
        },
      } as never;
    },
  });

  test("E8: each step's mask is stored as it was when the action was drawn", async () => {
    const seen = collect();
    const options = { ...seen, seat: seat({ horizon: 12 }) };
    await createLoop(masked, options).play(lease(), new CountingPolicy(3, "main", 3, 0, 5));
    const [block] = seen.blocks();
    expect(block.action_mask).toMatchObject({ dtype: "uint8", shape: [12, 3, 5] });
    const columns = byteRows({ shape: [12, 15], data: block.action_mask!.data });
    for (const [step, row] of columns.entries()) {
      const t = step % 9;
      const expected = [0, 1]
        .map((a) => Number(a === t % 2))
        .concat([0, 1, 2].map((a) => Number(a === t % 3)));
      expect(row).toEqual([...expected, ...expected, ...expected]);
    }
    expect(block.action).toMatchObject({ dtype: "int32", shape: [12, 3, 2] });
    // Only what is allowed was played, and it was certain.
    expect(new Set(float32View(block.reward))).toEqual(new Set([1]));
    expect(new Set(float32View(block.log_prob))).toEqual(new Set([0]));
  });

  test("a mask that allows nothing is the game's error, and reported as invalid", async () => {
    const seen = collect();
    const broken = defineGame({
      id: "Broken-v1",
      tickSeconds: 0.1,
      observation: box({ shape: [1] }),
      action: discrete(2),
      actionMask: true,
      create: () => ({
        start: () => [0],
        update(_, _action, out) {
          out.actionMask!.fill(0);
          return { observation: [0], reward: 0 };
        },
      }),
    });
    await expect(
      createLoop(broken, seen).play(lease({ num_segments: 9 }), new CountingPolicy(3)),
    ).rejects.toThrow(/failed 10 times \(invalid\).*allows no action/);
  });

  test("E9: who does not play has every choice allowed in what is stored", async () => {
    const seen = collect();
    const game = groupGame({ action: discrete(2), actionMask: true, onStep: dyingAgent });
    const inner = game.create;
    const hiding = {
      ...game,
      create: () => {
        const made = inner();
        return {
          start: made.start.bind(made),
          update(deltaTime: number, actions: never, out: { actionMask: Uint8Array[] }) {
            for (const mask of out.actionMask) mask.set([1, 0]);
            const result = made.update(deltaTime, actions, out as never);
            if (Array.isArray(result.terminated)) out.actionMask[1].fill(0);
            return result;
          },
        } as never;
      },
    };
    const options = { ...seen, seat: seat({ instance_ids: [0], horizon: 5 }) };
    await createLoop(hiding, options).play(lease({ seats: seatsOf(3) }), new CountingPolicy(3));
    const [block] = seen.blocks();
    const ofAgent1 = byteRows({ shape: [5, 6], data: block.action_mask!.data }).map((row) => row.slice(2, 4));
    expect(ofAgent1).toEqual([
      [1, 1],
      [1, 0],
      [1, 1],
      [1, 0],
      [1, 0],
    ]);
  });
});

test("P6: a box action is stored as it was drawn, in unit space; the game gets it clipped and in its own units", async () => {
  const seen = collect();
  const taken: number[][] = [];
  const game = defineGame({
    id: "Throttle-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [1] }),
    action: box({ shape: [2], low: [0, -10], high: [1, 10] }),
    create: () => ({
      start: () => [0],
      update: (_, action: never) => {
        taken.push([...(action as Float32Array)]);
        return { observation: [0], reward: 0 };
      },
    }),
  });
  const policy = new CountingPolicy(1, "main", 3, 0);
  const wide = Object.assign(policy, { outputs: [Float32Array.of(0.5, -0.5), Float32Array.of(0.7, 0.7)] });
  await createLoop(game, { ...seen, seat: seat({ instance_ids: [0], horizon: 64 }) }).play(lease(), wide);
  const [block] = seen.blocks();
  expect(block.action).toMatchObject({ dtype: "float32", shape: [64, 1, 2] });
  const drawn = floatRows(block.action);
  // A deviation of 2: most of them lie outside of [-1, 1].
  expect(drawn.flat().filter((a) => Math.abs(a) > 1).length).toBeGreaterThan(40);
  for (const [t, [a, b]] of drawn.entries()) {
    const clipped = [a, b].map((x) => Math.max(-1, Math.min(1, x)));
    expect(taken[t][0]).toBeCloseTo((clipped[0] + 1) / 2, 6);
    expect(taken[t][1]).toBeCloseTo(10 * clipped[1], 5);
    const std = Math.exp(Math.fround(0.7));
    const density = [a - 0.5, b + 0.5].map(
      (x) => -0.5 * (x / std) ** 2 - Math.log(std) - 0.5 * Math.log(2 * Math.PI),
    );
    expect(float32View(block.log_prob)[t]).toBeCloseTo(density[0] + density[1], 4);
  }
});
