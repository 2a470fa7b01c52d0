/** Streams of random numbers, what is played and which parameters are drawn from them. */

import { describe, expect, test } from "vitest";
import { ParameterSampler } from "../../../web/sdk/src/parameters.ts";
import { ActionRandom, createSequentialRandom, philox4x32, STREAM } from "../../../web/sdk/src/random.ts";
import { RandomPlayer } from "../../../web/sdk/src/random-play.ts";
import { type ActionSpace, box, discrete, multiBinary, multiDiscrete } from "../../../web/sdk/src/spaces.ts";
import golden from "../../contract/golden/philox.json";

describe("C5: Philox4x32-10", () => {
  test("C5: gives Random123's known answers", () => {
    expect(golden.known_answers).toHaveLength(3);
    for (const { counter, key, words } of golden.known_answers) {
      const out = new Uint32Array(6);
      philox4x32(counter[0], counter[1], counter[2], counter[3], key[0], key[1], out, 1);
      expect([...out]).toEqual([0, ...words, 0]);
    }
  });

  test("C5: sequential streams match the golden file", () => {
    for (const { stream, seed, episode, instance, uniforms } of golden.sequential) {
      const sequential = createSequentialRandom(STREAM[stream as "game" | "parameters"]);
      sequential.random();
      sequential.reset(seed.low, seed.high, episode, instance);
      expect(uniforms.map(() => sequential.random())).toEqual(uniforms);
    }
  });

  test("C5: action draws match the golden file, in any order", () => {
    const forwards = golden.action.map((_, i) => i);
    for (const order of [forwards, forwards.toReversed()]) {
      for (const numComponents of [1, 3]) {
        const random = new ActionRandom(2, numComponents);
        for (const i of order) {
          const { seed, slot, episode, step, num_components, uniforms } = golden.action[i];
          if (num_components !== numComponents) continue;
          random.setEpisode(1, seed.low, seed.high, slot, episode);
          expect(uniforms.map((_, component) => random.uniform(1, step, component))).toEqual(uniforms);
        }
      }
    }
  });

  test("C5: a new episode takes nothing from the block the last one held", () => {
    const random = new ActionRandom(1, 1);
    const first = [5, 6].map((episode) => {
      random.setEpisode(0, 1, 2, 10, episode);
      return random.uniform(0, 0, 0);
    });
    const alone = new ActionRandom(1, 1);
    alone.setEpisode(0, 1, 2, 10, 6);
    expect(first[1]).toBe(alone.uniform(0, 0, 0));
    expect(first[0]).not.toBe(first[1]);
  });

  test("C5: positions of a batch do not disturb each other's blocks", () => {
    const together = new ActionRandom(3, 1);
    for (let i = 0; i < 3; i++) together.setEpisode(i, 1, 2, 10 + i, 5);
    for (let step = 0; step < 9; step++) {
      for (let i = 0; i < 3; i++) {
        const alone = new ActionRandom(1, 1);
        alone.setEpisode(0, 1, 2, 10 + i, 5);
        expect(together.uniform(i, step, 0)).toBe(alone.uniform(0, step, 0));
      }
    }
  });
});

describe("the games' stream", () => {
  test("int(n) covers 0 to n - 1 evenly and refuses what is no count", () => {
    const { random, reset } = createSequentialRandom(STREAM.game);
    reset(3, 4, 0, 0);
    const counts = [0, 0, 0, 0, 0];
    for (let i = 0; i < 50_000; i++) counts[random.int(5)]++;
    // 10,000 expected, standard deviation 89.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(450);
    for (const bad of [0, -1, 1.5, Number.NaN]) expect(() => random.int(bad)).toThrow("whole n >= 1");
  });

  test("normal() has mean 0 and variance 1", () => {
    const { random, reset } = createSequentialRandom(STREAM.game);
    reset(5, 6, 0, 0);
    let sum = 0;
    let squares = 0;
    const count = 100_000;
    for (let i = 0; i < count; i++) {
      const value = random.normal();
      sum += value;
      squares += value * value;
    }
    expect(Math.abs(sum / count)).toBeLessThan(0.016);
    expect(Math.abs(squares / count - 1)).toBeLessThan(0.022);
  });
});

const NO_MASK = new Uint8Array(0);

function draws(space: ActionSpace, mask = NO_MASK): number[][] {
  const player = new RandomPlayer(space, 1);
  return Array.from({ length: 300 }, () => {
    const action = player.act(mask);
    return typeof action === "number" ? [action] : Array.from(action);
  });
}

test("every choice of every component is drawn, and none beyond", () => {
  const seen = (rows: number[][], i: number) => [...new Set(rows.map((row) => row[i]))].sort();
  expect(seen(draws(discrete(3)), 0)).toEqual([0, 1, 2]);
  const several = draws(multiDiscrete([2, 3]));
  expect([seen(several, 0), seen(several, 1)]).toEqual([
    [0, 1],
    [0, 1, 2],
  ]);
  expect(seen(draws(multiBinary(2)), 1)).toEqual([0, 1]);
  const reals = draws(box({ shape: [2], low: [-1, 5], high: [1, 6] }));
  expect(reals.every(([a, b]) => a >= -1 && a < 1 && b >= 5 && b <= 6)).toBe(true);
});

test("a mask leaves only what it allows", () => {
  const masked = draws(discrete(4), new Uint8Array([0, 1, 0, 1])).map(([action]) => action);
  expect([...new Set(masked)].sort()).toEqual([1, 3]);
  const several = draws(multiDiscrete([2, 3]), new Uint8Array([1, 0, 0, 0, 1]));
  expect(several.every(([a, b]) => a === 0 && b === 2)).toBe(true);
});

test("C5: draws come from stream `parameters` of (seed, episode, instance), in the order of the names", () => {
  const { seed, episode, instance, uniforms } = golden.sequential.find(
    ({ stream }) => stream === "parameters",
  )!;
  const sampler = new ParameterSampler({
    b: { kind: "uniform", values: [10, 30] },
    a: { kind: "uniform", values: [-1, 1] },
    c: { kind: "constant", values: [7] },
  });
  for (let repeat = 0; repeat < 2; repeat++) {
    expect(sampler.sample(seed.low, seed.high, episode, instance)).toEqual({
      a: -1 + 2 * uniforms[0],
      b: 10 + 20 * uniforms[1],
      c: 7,
    });
  }
});

test("nothing to draw is undefined", () => {
  expect(new ParameterSampler({}).sample(1, 2, 3, 4)).toBeUndefined();
});

test("normal draws are clipped to their limits", () => {
  const sampler = new ParameterSampler({ a: { kind: "normal", values: [5, 2, 4, 8] } });
  const values = Array.from({ length: 2000 }, (_, episode) => sampler.sample(1, 0, episode, 0)!.a);
  expect(Math.min(...values)).toBe(4);
  expect(Math.max(...values)).toBe(8);
  // Below 4 lies half a deviation: 30.9 % of the draws; deviation of the count 21.
  expect(Math.abs(values.filter((value) => value === 4).length - 617)).toBeLessThan(100);
});

test("of several ranges each is as likely as it is wide", () => {
  const sampler = new ParameterSampler({ a: { kind: "multi_range", values: [0, 1, 10, 13] } });
  const values = Array.from({ length: 4000 }, (_, episode) => sampler.sample(1, 0, episode, 0)!.a);
  expect(values.every((value) => (value >= 0 && value < 1) || (value >= 10 && value < 13))).toBe(true);
  // A quarter of the width: 1000 expected, deviation 27.
  expect(Math.abs(values.filter((value) => value < 1).length - 1000)).toBeLessThan(140);
});
