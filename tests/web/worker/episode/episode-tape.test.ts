/** The tape of a copy: rows and marks as they were, for episodes of any length up to the limit. */

import { digits, EpisodeTape, markInterval, recordedSeats } from "@attract/worker/episode/episode-tape";
import { MAX_ACTION_BYTES } from "@attract/worker/episode/packed-actions";
import type { Instance } from "attract/instance";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { countingGame, lease, SEED } from "../support/counting-game.ts";

const TERMS = { run_id: "run", seed: SEED, lesson_id: null, seats: recordedSeats(lease().seats) };

function seen(step: number): Instance {
  return {
    numAgents: 1,
    instanceId: 7,
    episode: 4,
    active: Uint8Array.of(1),
    views: [Float32Array.of(step)],
    masks: [],
    episodeTicks: step,
    episodeReturns: Float64Array.of(step),
  } as unknown as Instance;
}

function bytesOf(data: string): number[] {
  return Array.from(atob(data), (character) => character.charCodeAt(0));
}

test("each step's action and each second's hash stand in their place, over several lengths of memory", () => {
  const tape = new EpisodeTape(countingGame());
  tape.begin({ size: 6 });
  for (let step = 0; step < 1000; step++) tape.add(seen(step), [0, step % 2], 1);
  const episode = tape.recorded(seen(1000), TERMS, "terminated");
  expect(episode).toMatchObject({
    game_id: "Counting-v1",
    run_id: "run",
    instance: 7,
    episode: 4,
    parameters: { size: 6 },
    num_steps: 1000,
    num_ticks: 1000,
    returns: [1000],
    end_reason: "terminated",
    actions: { dtype: "uint8", shape: [1000, 1] },
    marks: { interval: 10 },
  });
  expect(bytesOf(episode?.actions.data ?? "").every((action, step) => action === step % 2)).toBe(true);
  const hashes = episode?.marks.hashes.match(/.{8}/g) ?? [];
  expect([hashes.length, new Set(hashes).size]).toEqual([100, 100]);
});

test("the next episode begins empty", () => {
  const tape = new EpisodeTape(countingGame());
  tape.begin(undefined);
  tape.add(seen(0), [1], 0);
  tape.begin(undefined);
  expect(tape.recorded(seen(0), TERMS, null)).toMatchObject({
    num_steps: 0,
    end_reason: "stopped",
    parameters: {},
  });
});

test("an episode that is too long is not recorded, and the one after it is", () => {
  const game = { ...countingGame(), action: box({ shape: [64], low: -1, high: 1 }) };
  const tape = new EpisodeTape(game);
  const row = new Float32Array(64).fill(0.5);
  const most = MAX_ACTION_BYTES / (64 * 4);
  tape.begin(undefined);
  for (let step = 0; step < most; step++) tape.add(seen(step), row, 0);
  expect(tape.recorded(seen(most), TERMS, null)?.num_steps).toBe(most);
  tape.add(seen(most), row, 0);
  expect(tape.isComplete).toBe(false);
  expect(tape.recorded(seen(most), TERMS, null)).toBeNull();
  tape.begin(undefined);
  tape.add(seen(0), row, 0);
  expect(tape.recorded(seen(1), TERMS, null)?.actions).toMatchObject({ dtype: "float32", shape: [1, 1, 64] });
});

test("what has not begun on the tape is not recorded", () => {
  const tape = new EpisodeTape(countingGame());
  tape.add(seen(0), [1], 0);
  expect(tape.recorded(seen(1), TERMS, "terminated")).toBeNull();
});

test("a mark is made about once a second of game time, and at each step where that is longer", () => {
  const of = (secondsPerStep: number) => markInterval({ ...countingGame(), secondsPerStep });
  expect([of(1 / 60), of(0.1), of(0.4), of(60)]).toEqual([60, 10, 3, 1]);
  expect(digits([0, 0xffffffff])).toBe("00000000ffffffff");
});

test("a script that plays at random is no policy", () => {
  const [seat] = lease().seats;
  expect(recordedSeats([seat, { ...seat, script: "random" }])).toEqual([
    { player: "policy", policy_id: "main", policy_version: 3, deterministic: false },
    { player: "random", policy_id: null, policy_version: null, deterministic: false },
  ]);
});

test("choices of a large space are recorded in as many bytes as they need", () => {
  const dtype = (n: number) => {
    const tape = new EpisodeTape({ ...countingGame(), action: discrete(n) });
    tape.begin(undefined);
    tape.add(seen(0), [n - 1], 0);
    const { actions } = tape.recorded(seen(1), TERMS, null) ?? {};
    return [actions?.dtype, bytesOf(actions?.data ?? "").reduce((sum, byte, i) => sum + byte * 256 ** i, 0)];
  };
  expect([dtype(256), dtype(257), dtype(65_537)]).toEqual([
    ["uint8", 255],
    ["uint16", 256],
    ["int32", 65_536],
  ]);
});
