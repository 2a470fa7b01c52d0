/** The rollout loop on games whose observations name instance and step. */

import { float32View, int32View, type RecordedEpisode, uint16View } from "@attract/schema";
import { cutStep } from "@attract/worker/game/desync";
import { RandomPolicy } from "@attract/worker/policy/policy";
import { philox4x32 } from "attract/random";
import { describe, expect, test } from "vitest";
import { collect } from "../support/collected.ts";
import { countingGame, createLoop, FakePolicy, lease, SEED, seat } from "../support/counting-game.ts";
import { episodesOf } from "../support/episodes.ts";

/** Row t of a [horizon, k] tensor of bytes. */
function row(bytes: Uint8Array, k: number, t: number): number[] {
  return [...bytes.slice(t * k, (t + 1) * k)];
}

describe("a segment", () => {
  test("S2: carries each slot's own observations, values and step counter", async () => {
    const seen = collect();
    const loop = createLoop(countingGame(), seen);
    const close = await loop.play(lease({ num_segments: 2 }), new FakePolicy(4));
    const [first, second] = seen.blocks();
    expect([...int32View(first.slot_id)]).toEqual([0, 1, 2]);
    expect([...int32View(first.first_step)]).toEqual([0, 0, 0]);
    expect([...int32View(second.first_step)]).toEqual([4, 4, 4]);
    expect([first.segment_index, second.segment_index]).toEqual([0, 1]);
    expect([first.block_index, second.block_index]).toEqual([0, 1]);
    expect(first.observation.obs.shape).toEqual([4, 3, 2]);
    // Row t: slot 0 at t, slot 1 at 1000 + t, slot 2 at 2000 + t; each with the steps since its start.
    expect([...float32View(second.observation.obs)].slice(0, 6)).toEqual([4, 4, 1004, 4, 2004, 4]);
    expect([...float32View(second.value)].slice(3, 6)).toEqual([5.5, 1005.5, 2005.5]);
    expect(second.policy_version).toBe(3);
    expect(close?.num_blocks).toBe(2);
  });

  test("E4: the bootstrap value is V(current observation) while the episode goes on, and closes the lease", async () => {
    const seen = collect();
    const policy = new FakePolicy(4);
    const close = await createLoop(countingGame(), seen).play(lease(), policy);
    const [block] = seen.blocks();
    expect([...float32View(block.bootstrap_observation.obs)]).toEqual([4, 4, 1004, 4, 2004, 4]);
    expect([...float32View(block.bootstrap_value)]).toEqual([4.5, 1004.5, 2004.5]);
    expect([...float32View(close!.bootstrap_value)]).toEqual([4.5, 1004.5, 2004.5]);
    // Four decisions and the bootstrap: nothing is inferred twice.
    expect(policy.runs).toEqual([3, 3, 3, 3, 3]);
  });

  test("E4: the bootstrap value is 0 after a terminated last step", async () => {
    const seen = collect();
    await createLoop(countingGame({ terminateAt: 4 }), seen).play(lease(), new FakePolicy(4));
    const [block] = seen.blocks();
    expect([...float32View(block.bootstrap_value)]).toEqual([0, 0, 0]);
    expect(row(block.terminated.data, 3, 3)).toEqual([1, 1, 1]);
    expect(block.final_observations).toBeNull();
  });

  test("E4: the bootstrap value is V(final observation) after a truncated last step", async () => {
    const seen = collect();
    const policy = new FakePolicy(4);
    policy.perStep = 100;
    await createLoop(countingGame({ truncateAt: 4 }), seen).play(lease(), policy);
    const [block] = seen.blocks();
    // 4 steps since the start; the new episode's first observation would give 4.5.
    expect([...float32View(block.bootstrap_value)]).toEqual([404.5, 1404.5, 2404.5]);
    // Yet the observation after the step is the new episode's.
    expect([...float32View(block.bootstrap_observation.obs)]).toEqual([4, 0, 1004, 0, 2004, 0]);
  });

  test("E2: a truncation is valued at the observation before the reset, in few batches", async () => {
    const seen = collect();
    const policy = new FakePolicy(4);
    policy.perStep = 100;
    await createLoop(countingGame({ truncateAt: 2 }), seen).play(lease(), policy);
    const finals = seen.blocks()[0].final_observations!;
    expect([...int32View(finals.step)]).toEqual([1, 1, 1, 3, 3, 3]);
    expect([...int32View(finals.column)]).toEqual([0, 1, 2, 0, 1, 2]);
    // Two steps since the start: the final observation, where a new episode's would say 0.
    expect([...float32View(finals.observation.obs)]).toEqual([
      2, 2, 1002, 2, 2002, 2, 4, 2, 1004, 2, 2004, 2,
    ]);
    expect([...float32View(finals.value)]).toEqual([202.5, 1202.5, 2202.5, 204.5, 1204.5, 2204.5]);
    expect(policy.runs).toEqual([3, 3, 3, 3, 4, 2, 3]);
  });

  test("E3: the step after an episode's end sees the new episode's first observation", async () => {
    const seen = collect();
    await createLoop(countingGame({ terminateAt: 2 }), seen).play(lease(), new FakePolicy(4));
    const observations = float32View(seen.blocks()[0].observation.obs);
    const sinceStart = [0, 1, 2, 3].map((t) => observations[t * 6 + 1]);
    expect(sinceStart).toEqual([0, 1, 0, 1]);
  });

  test("E8: final observations stay with the columns of their block when a segment is cut", async () => {
    const seen = collect();
    const instanceIds = [40, 41, 42, 43, 44];
    const options = { ...seen, seat: seat({ instance_ids: instanceIds, max_frame_bytes: 1700 }) };
    await createLoop(countingGame({ truncateAt: 3 }), options).play(lease(), new FakePolicy(8));
    const blocks = seen.blocks();
    expect(blocks.length).toBeGreaterThan(1);
    expect(blocks.map((block) => block.block_index)).toEqual(blocks.map((_, i) => i));
    expect(blocks.flatMap((block) => [...int32View(block.slot_id)])).toEqual(instanceIds);
    let from = 0;
    for (const block of blocks) {
      const slots = [...int32View(block.slot_id)];
      const finals = block.final_observations!;
      expect([...int32View(finals.column)]).toEqual(slots.map((_, i) => i));
      const firsts = slots.map((_, i) => float32View(finals.observation.obs)[2 * i]);
      expect(firsts).toEqual(slots.map((_, i) => 1000 * (from + i) + 3));
      const observed = float32View(block.observation.obs);
      expect(slots.map((_, i) => observed[2 * (2 * slots.length + i)])).toEqual(
        firsts.map((value) => value - 1),
      );
      expect(episodesOf(block).map((episode) => episode.instance_id)).toEqual(slots);
      from += slots.length;
    }
  });

  test("T2: rewards are summed over the executed ticks, which are counted", async () => {
    const seen = collect();
    const game = countingGame({
      ticksPerStep: 3,
      onTick: (_, tick) => (tick === 5 ? { reward: 10, terminated: true } : undefined),
    });
    const one = lease({ seats: [{ ...lease().seats[0], deterministic: true }] });
    await createLoop(game, seen).play(one, new FakePolicy(4));
    const [block] = seen.blocks();
    // Argmax of equal logits is action 0: 1 per tick. Step 1 ends at its second tick: 1 + 10.
    expect([...float32View(block.reward)].filter((_, i) => i % 3 === 0)).toEqual([3, 11, 3, 3]);
    expect([...uint16View(block.executed_ticks)].filter((_, i) => i % 3 === 0)).toEqual([3, 2, 3, 3]);
    expect(episodesOf(block)[0]).toMatchObject({ length_steps: 2, length_ticks: 5, step: 1, returns: [14] });
  });
});

describe("across leases", () => {
  test("E5: episodes, returns and step counters carry over", async () => {
    const seen = collect();
    const loop = createLoop(countingGame({ terminateAt: 6 }), seen);
    await loop.play(lease(), new FakePolicy(4));
    await loop.play(lease({ lease_id: 2 }), new FakePolicy(4, 2, 4));
    const [first, second] = seen.blocks();
    expect(episodesOf(first)).toEqual([]);
    expect(episodesOf(second).map(({ length_steps, step }) => [length_steps, step])).toEqual([
      [6, 1],
      [6, 1],
      [6, 1],
    ]);
    expect([...int32View(second.first_step)]).toEqual([4, 4, 4]);
    expect(second.policy_version).toBe(4);
  });

  test("E5: a voided lease sends nothing more and leaves the games where they are", async () => {
    const seen = collect();
    const loop = createLoop(
      countingGame({ onTick: (_, tick) => void (tick === 2 && loop.voidLease(1)) }),
      seen,
    );
    expect(await loop.play(lease({ num_segments: 3 }), new FakePolicy(4))).toBeNull();
    expect(seen.frames).toEqual([]);
    expect(await loop.play(lease({ lease_id: 2 }), new FakePolicy(4))).not.toBeNull();
    const [block] = seen.blocks();
    expect([...int32View(block.first_step)]).toEqual([2, 2, 2]);
    expect(float32View(block.observation.obs)[0]).toBe(2);
  });

  test("P7: the random warm-up is uniform, and the games begin again from episode 0 after it", async () => {
    const seen = collect();
    const game = countingGame({ terminateAt: 3, numActions: 4 });
    const loop = createLoop(game, seen);
    const random = { ...lease().seats[0], script: "random" as const, policy_version: 0 };
    await loop.play(lease({ purpose: "warmup", seats: [random] }), new RandomPolicy("main", 0, 3));
    await loop.play(lease({ lease_id: 2 }), new FakePolicy(4, 4));
    const [warmUp, training] = seen.blocks();
    expect(new Set(float32View(warmUp.log_prob))).toEqual(new Set([Math.fround(-Math.log(4))]));
    expect(new Set(float32View(warmUp.value))).toEqual(new Set([0]));
    expect([...int32View(training.first_step)]).toEqual([0, 0, 0]);
    expect(episodesOf(training).map((episode) => episode.episode)).toEqual([0, 0, 0]);
    // Fresh games: their numbers are those of the fourth to sixth created.
    expect(float32View(training.observation.obs)[0]).toBe(3000);
  });

  test("C5: actions come from the stream of (seed, slot, episode, step) and not from the batch they are drawn in", async () => {
    const together = collect();
    const game = { terminateAt: 3 };
    const ids = [5, 9, 2];
    await createLoop(countingGame(game), {
      ...together,
      seat: seat({ instance_ids: ids, horizon: 16 }),
    }).play(lease(), new FakePolicy(4));
    const all = int32View(together.blocks()[0].action);
    for (let column = 0; column < ids.length; column++) {
      const alone = collect();
      await createLoop(countingGame(game), {
        ...alone,
        seat: seat({ instance_ids: [ids[column]], horizon: 16 }),
      }).play(lease(), new FakePolicy(4));
      const expected = [...all].filter((_, i) => i % 3 === column);
      expect([...int32View(alone.blocks()[0].action)]).toEqual(expected);
      expect(new Set(expected).size).toBe(2);
    }
  });
});

test("C6: a lease's lesson and parameters take effect at each instance's next start", async () => {
  const sizes: number[] = [];
  const game = countingGame({ terminateAt: 3 });
  const definition = {
    ...game,
    parameters: { size: { default: 5, low: 1, high: 9 } },
    create: () => {
      const inner = game.create();
      return {
        start(context: Parameters<typeof inner.start>[0]) {
          sizes.push(context.parameters.size);
          return inner.start(context);
        },
        update: inner.update.bind(inner),
      };
    },
  };
  const seen = collect();
  const loop = createLoop(definition, { ...seen, seat: seat({ instance_ids: [0] }) });
  const policy = new FakePolicy(1);
  await loop.play(lease(), policy);
  const large = { parameters: { size: { kind: "constant" as const, values: [8] } }, lesson_id: "large" };
  await loop.play(lease({ lease_id: 2, ...large }), policy);
  await loop.play(lease({ lease_id: 3, ...large }), policy);
  // Starts at steps 0 and 3 under the first lease, at 6 under the second, at 9 and 12 under the third.
  expect(sizes).toEqual([5, 5, 8, 8, 8]);
  // The episode of steps 3 to 5 ends under the second lease and says under which lesson it began.
  const episodes = seen.blocks().flatMap(episodesOf);
  expect(episodes.map((episode) => episode.lesson_id)).toEqual([null, null, "large", "large"]);
});

describe("E7: desync", () => {
  test("E7: cuts each instance's first episode once, at 1 + floor(u * desync_steps), valued like a truncation", async () => {
    const seen = collect();
    const options = { ...seen, seat: seat({ horizon: 40 }) };
    await createLoop(countingGame({ maxSteps: 12 }), options).play(
      lease({ desync_steps: 10 }),
      new FakePolicy(4),
    );
    const [block] = seen.blocks();
    const expected = [0, 1, 2].map((instance) => {
      const words = new Uint32Array(4);
      philox4x32(0, 0, instance, (6 << 24) >>> 0, SEED.low, SEED.high, words, 0);
      return 1 + Math.floor(((words[0] >>> 8) / 2 ** 24) * 10);
    });
    expect(expected).toEqual([0, 1, 2].map((instance) => cutStep(SEED, instance, 10)));
    expect(new Set(expected).size).toBeGreaterThan(1);
    for (let column = 0; column < 3; column++) {
      const episodes = episodesOf(block).filter((episode) => episode.instance_id === column);
      expect(episodes.map((episode) => episode.end_reason)).toEqual(
        episodes.map((_, i) => (i === 0 ? "cut" : "time_limit")),
      );
      expect(episodes[0].length_steps).toBe(expected[column]);
      expect(episodes[1].length_steps).toBe(12);
      expect(block.truncated.data[(expected[column] - 1) * 3 + column]).toBe(1);
    }
    const finals = block.final_observations!;
    const firstCut = [...int32View(finals.column)].indexOf(0);
    expect(float32View(finals.observation.obs)[2 * firstCut + 1]).toBe(expected[0]);
    expect(cutStep(SEED, 0, 0)).toBe(0);
  });

  test("E1: a cut episode is none of those that a lease asks for", async () => {
    const recorded: RecordedEpisode[] = [];
    const options = { seat: seat({ horizon: 40 }), recorded: (one: RecordedEpisode) => recorded.push(one) };
    await createLoop(countingGame({ maxSteps: 12 }), options).play(
      lease({ desync_steps: 10, record: "extremes" }),
      new FakePolicy(4),
    );
    expect(recorded.length).toBeGreaterThan(0);
    expect(new Set(recorded.map((one) => one.end_reason))).toEqual(new Set(["time_limit"]));
  });
});

test("a worker that makes many slow copies is heard meanwhile", async () => {
  let now = 0;
  let yields = 0;
  const made: number[] = [];
  const definition = countingGame();
  const create = () => {
    now += 3;
    return definition.create();
  };
  const slow = { ...definition, create };
  const loop = createLoop(slow, {
    seat: seat({ instance_ids: [0, 1, 2, 3, 4, 5] }),
    now: () => now,
    yieldTurn: () => {
      yields++;
      return Promise.resolve();
    },
    announce: (id) => void made.push(id),
  });
  const playing = loop.play(lease(), new FakePolicy(8));
  loop.voidLease(1);
  expect(await playing).toBeNull();
  // Three milliseconds each: every second one makes the five after which others have their turn.
  expect(yields).toBe(3);
  expect(made).toEqual([0, 1, 2, 3, 4, 5]);
});

describe("a game that breaks", () => {
  const failAt = (tick: number, result: unknown) =>
    countingGame({
      onTick: (instance, at) => (instance === 1 && at === tick ? (result as never) : undefined),
    });

  test("S5: the failed step counts nowhere and the step before is truncated where the failed one began", async () => {
    const seen = collect();
    await createLoop(failAt(3, { reward: Number.NaN }), seen).play(lease(), new FakePolicy(4));
    const [block] = seen.blocks();
    expect(row(block.valid.data, 3, 1)).toEqual([1, 1, 1]);
    expect(row(block.valid.data, 3, 2)).toEqual([1, 0, 1]);
    expect(row(block.valid.data, 3, 3)).toEqual([1, 1, 1]);
    expect(row(block.truncated.data, 3, 1)).toEqual([0, 1, 0]);
    expect(row(block.truncated.data, 3, 2)).toEqual([0, 0, 0]);
    const finals = block.final_observations!;
    expect([...int32View(finals.step), ...int32View(finals.column)]).toEqual([1, 1]);
    expect([...float32View(finals.observation.obs)]).toEqual([1002, 2]);
    expect([...float32View(finals.value)]).toEqual([1002.5]);
    expect(episodesOf(block)).toMatchObject([
      { instance_id: 1, episode: 0, end_reason: "cut", length_steps: 2, step: 1 },
    ]);
    // A fresh object, the fourth created, goes on with the next episode.
    expect([...float32View(block.observation.obs)].slice(3 * 6 + 2, 3 * 6 + 4)).toEqual([3000, 0]);
    expect(seen.reports).toMatchObject([
      { kind: "nan", slot_id: 1, instance_id: 1, episode: 0, tick: 3, seed: SEED, lease_id: 1 },
    ]);
    // The game threw nothing: a stack would be that of our own checks.
    expect(seen.reports[0]).toMatchObject({ stack: null, method: { name: "update" } });
    expect(seen.reports[0].step_values).toMatch(/^action [01], observation \[1003, 3\]$/);
  });

  test("S5: a failed step counts nowhere even where the segment before left a valid one", async () => {
    const seen = collect();
    const game = failAt(7, { reward: Number.NaN });
    await createLoop(game, seen).play(lease({ num_segments: 2 }), new FakePolicy(4));
    const [first, second] = seen.blocks();
    expect(row(first.valid.data, 3, 2)).toEqual([1, 1, 1]);
    expect(row(second.valid.data, 3, 2)).toEqual([1, 0, 1]);
    expect([...uint16View(second.executed_ticks)].slice(6, 9)).toEqual([1, 0, 1]);
  });

  test("a throw, a wrong shape and a missing result are reported by their kinds with text and stack", async () => {
    const results = [
      {
        kind: "throw",
        game: countingGame({ onTick: (i, t) => void (i === 0 && t === 2 && fail("the ship sank")) }),
        text: "the ship sank",
      },
      { kind: "shape", game: failAt(2, { reward: 1, observation: [1, 2, 3] }), text: "3 numbers" },
      { kind: "invalid", game: failAt(2, { terminated: false }), text: "reward" },
    ];
    for (const { kind, game, text } of results) {
      const seen = collect();
      expect(await createLoop(game, seen).play(lease(), new FakePolicy(4))).not.toBeNull();
      expect(seen.reports).toHaveLength(1);
      expect(seen.reports[0].kind).toBe(kind);
      expect(seen.reports[0].text).toContain(text);
      expect(seen.reports[0].stack !== null).toBe(kind === "throw");
      expect(seen.reports[0].method?.text).toContain("update(");
    }
  });

  test("ten failures without 1,000 good steps between end the worker; with them they do not", async () => {
    const seen = collect();
    const always = countingGame({ onTick: (_, tick) => void (tick === 2 && fail("again")) });
    await expect(
      createLoop(always, seen).play(lease({ num_segments: 50 }), new FakePolicy(4)),
    ).rejects.toThrow(/failed 10 times \(throw\).*again/);
    expect(seen.reports).toHaveLength(10);
    const rarely = collect();
    const sometimes = countingGame({ onTick: (_, tick) => void (tick === 1001 && fail("rarely")) });
    const options = { ...rarely, seat: seat({ instance_ids: [0] }) };
    await createLoop(sometimes, options).play(lease({ num_segments: 4000 }), new FakePolicy(1));
    expect(rarely.reports.length).toBe(15);
  });

  test("a game that cannot start is tried with the next episodes and then given up", async () => {
    const seen = collect();
    const game = countingGame();
    const broken = {
      ...game,
      create: () => ({ start: () => fail("no level"), update: () => ({ reward: 0 }) }),
    } as never;
    await expect(createLoop(broken, seen).play(lease(), new FakePolicy(4))).rejects.toThrow(/no level/);
    expect(seen.reports.map((report) => report.episode)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("a policy that gives NaN stops the lease instead of sending it", async () => {
    const policy = new FakePolicy(4);
    policy.logits[0] = Number.NaN;
    await expect(createLoop(countingGame()).play(lease(), policy)).rejects.toThrow(/not finite/);
  });
});

test("the event loop gets its turn at least every 5 ms of play, also between slow games", async () => {
  let clock = 0;
  let lastYield = 0;
  let longest = 0;
  const instanceIds = Array.from({ length: 64 }, (_, i) => i);
  const loop = createLoop(
    countingGame({
      onTick: () => {
        clock += 0.25;
        return undefined;
      },
    }),
    {
      seat: seat({ instance_ids: instanceIds, horizon: 8 }),
      now: () => clock,
      yieldTurn: async () => {
        longest = Math.max(longest, clock - lastYield);
        lastYield = clock;
      },
    },
  );
  await loop.play(lease(), new FakePolicy(64));
  expect(clock).toBe(0.25 * 64 * 8);
  // The first look comes after 16 instances, 4 ms; from then on after ever fewer, at last after each.
  expect(longest).toBeGreaterThanOrEqual(5);
  expect(longest).toBeLessThanOrEqual(6);
});

test("the games wait while too much is unsent", async () => {
  const order: string[] = [];
  const { promise, resolve: open } = withResolvers();
  let asked = 0;
  const loop = createLoop(countingGame(), {
    emit: (frame) => order.push(`segment ${frame.segmentIndex}`),
    gate: () => {
      asked++;
      return asked === 1 ? promise.then(() => void order.push("opened")) : null;
    },
  });
  const done = loop.play(lease({ num_segments: 2 }), new FakePolicy(4));
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual(["segment 0"]);
  open();
  await done;
  expect(order).toEqual(["segment 0", "opened", "segment 1"]);
});

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function fail(text: string): never {
  throw new RangeError(text);
}
