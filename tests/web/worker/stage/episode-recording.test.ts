/** What is recorded plays the same episode again: actions as the wire has them, for one agent and for several. */

import type { GameDescription } from "@attract/schema";
import type { Instance } from "attract/instance";
import { expect, test } from "vitest";
import {
  EpisodeRecording,
  LONGEST_STEPS,
  MAX_NUMBERS,
  throughUnitBox,
} from "../../../../web/worker/src/stage/episode-recording.ts";

function described(action: unknown, numAgents = 1): GameDescription {
  return { action, num_agents: numAgents } as GameDescription;
}

function instance(active: number[], returns: number[], episodeOver = true): Instance {
  return {
    active: Uint8Array.from(active),
    episodeReturns: Float64Array.from(returns),
    episodeOver,
  } as unknown as Instance;
}

test("an episode is its seed, number, parameters and actions; the next one begins empty", () => {
  const recording = new EpisodeRecording(described({ kind: "discrete", n: 3, labels: null }), 7);
  const parameters = { gravity: 2 };
  recording.begin(4, parameters);
  parameters.gravity = 9; // the sampler's own object, which it writes to again
  recording.add(2, instance([1], [0]));
  recording.add(0, instance([1], [0]));
  expect(recording.take(instance([0], [1.5]))).toEqual({
    seed: { low: 7, high: 0 },
    episode: 4,
    parameters: { gravity: 2 },
    actions: [[2], [0]],
    returns: [1.5],
    ended: true,
  });
  recording.begin(5, undefined);
  expect(recording.take(instance([0], [0]))).toBeNull();
});

test.each([
  ["steps", described({ kind: "discrete", n: 3, labels: null }), 1, LONGEST_STEPS],
  ["numbers", described({ kind: "multi_discrete", nvec: [2, 2, 2, 2] }), [1, 0, 1, 0], MAX_NUMBERS / 4],
])(
  "an episode of too many %s is kept as far as may be, as if it had been stopped there",
  (_, game, choice, most) => {
    const recording = new EpisodeRecording(game, 7);
    recording.begin(0, undefined);
    for (let step = 0; step < most + 3; step++) recording.add(choice as never, instance([1], [step], false));
    const played = recording.take(instance([0], [1e6]));
    expect(played?.actions).toHaveLength(most);
    expect(played).toMatchObject({ returns: [most], ended: false });
    recording.begin(1, undefined);
    recording.add(choice as never, instance([1], [0], false));
    expect(recording.take(instance([0], [5]))).toMatchObject({ returns: [5], ended: true });
  },
);

test("of several agents each has its action, and who is away has none", () => {
  const recording = new EpisodeRecording(described({ kind: "multi_discrete", nvec: [2, 3] }, 2), 1);
  recording.begin(0, undefined);
  recording.add(
    [
      [1, 2],
      [0, 0],
    ],
    instance([1, 0], [0, 0]),
  );
  expect(recording.take(instance([0, 0], [1, 2], false))).toMatchObject({
    actions: [[[1, 2], null]],
    returns: [1, 2],
    ended: false,
  });
});

test("P6: a continuous action reaches the game as its record will", () => {
  const space = { kind: "box", shape: [2], low: [-2, 0], high: [2, 10], dtype: "float32" } as const;
  const description = described(space);
  for (const wanted of [
    [-2, 10],
    [0.3, 7.7],
    [99, -99],
  ]) {
    const recording = new EpisodeRecording(description, 1);
    recording.begin(0, undefined);
    const given = throughUnitBox(description.action as never, wanted);
    recording.add(given, instance([1], [0]));
    const played = recording.take(instance([0], [0]));
    const unit = played?.actions[0][0] as number[];
    // As a worker scales what a policy decides.
    const again = unit.map((u, c) =>
      Math.fround(space.low[c] + ((u + 1) / 2) * (space.high[c] - space.low[c])),
    );
    expect(again).toEqual([...given]);
    expect(unit.every((u) => Math.abs(u) <= 1 && u === Math.fround(u))).toBe(true);
    wanted.forEach((value, c) => {
      expect(given[c]).toBeCloseTo(Math.min(space.high[c], Math.max(space.low[c], value)), 5);
    });
  }
});
