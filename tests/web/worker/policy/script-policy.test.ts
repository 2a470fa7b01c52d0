/** What a script is shown, and its mixed action: what is one, and what is said of one that is none. */

import { box, dict, discrete, mixed, multiDiscrete, set } from "attract/spaces";
import { expect, test } from "vitest";
import { ObservationBatch } from "../../../../web/worker/src/game/observation-batch.ts";
import { type Act, ScriptPolicy } from "../../../../web/worker/src/policy/script-policy.ts";

const SPACE = mixed({
  gear: multiDiscrete([2, 2]),
  aim: box({ shape: [1], low: 0, high: 10 }),
  button: discrete(3),
});

function decided(action: unknown, mask: readonly number[] | null = null): number[] {
  const maskSize = mask?.length ?? 0;
  const batch = new ObservationBatch(box({ shape: [1] }), 1, { maskSize });
  if (mask !== null) batch.maskViews[0].set(mask);
  const act: Act = () => action as never;
  const script = new ScriptPolicy(
    "script:a.js",
    act,
    { observation: box({ shape: [1] }), action: SPACE },
    { rows: 1, stateSize: 0 },
    () => undefined,
  );
  return Array.from(script.decide(batch, 0, 0.5));
}

test("its parts travel as those of a policy: choices by name, then numbers in unit space", () => {
  expect(decided({ aim: [7.5], button: 2, gear: [0, 1] })).toEqual([2, 0, 1, 0.5]);
  expect(decided({ aim: 7.5, button: 2, gear: Int32Array.of(0, 1) })).toEqual([2, 0, 1, 0.5]);
});

test.each([
  [[2, 0, 1, 7.5], "an object with button, gear, aim is an action"],
  [null, "act returned null; an object with"],
  [{ aim: [1], button: 0 }, "an object with button, gear, aim is an action"],
  [{ aim: [1], button: 0, gear: [0, 0], x: 1 }, "an object with button, gear, aim is an action"],
  [{ aim: [1], button: 3, gear: [0, 0] }, "button: a number from 0 to 2 is an action"],
  [{ aim: [Number.NaN], button: 0, gear: [0, 0] }, "aim: 1 numbers are an action"],
  [{ aim: [1], button: 0, gear: [0, 2] }, "gear: number 1 must be 0 to 1"],
])("%j: %s", (action, says) => {
  expect(() => decided(action)).toThrow(says);
});

test("each part keeps to its own part of the mask", () => {
  const mask = [1, 1, 0, 1, 1, 0, 1];
  expect(decided({ aim: [5], button: 1, gear: [1, 1] }, mask)).toEqual([1, 1, 1, 0]);
  expect(() => decided({ aim: [5], button: 2, gear: [1, 1] }, mask)).toThrow(
    "button: its mask does not allow it",
  );
  expect(() => decided({ aim: [5], button: 1, gear: [1, 0] }, mask)).toThrow(
    "gear: the mask does not allow number 1",
  );
});

test("a script sees a set as the list of its rows, and other parts as they are", () => {
  const observation = dict({ me: box({ shape: [2] }), rocks: set({ max: 3, shape: [2] }) });
  const batch = new ObservationBatch(observation, 2);
  batch.arrays[0].set([0, 0, 7, 8]);
  batch.arrays[1].set([1, 2, 1, 3, 4, 1, 0, 0, 0], 9);
  const seen: unknown[] = [];
  const act = (given: unknown): number => {
    seen.push(structuredClone(given));
    return 1;
  };
  const game = { observation, action: discrete(3) };
  const policy = new ScriptPolicy("script:a.js", act, game, { rows: 2, stateSize: 0 }, () => {});
  expect(Array.from(policy.decide(batch, 1, 0.5))).toEqual([1]);
  policy.decide(batch, 0, 0.5);
  expect(seen).toEqual([
    { me: Float32Array.of(7, 8), rocks: [Float32Array.of(1, 2), Float32Array.of(3, 4)] },
    { me: Float32Array.of(0, 0), rocks: [] },
  ]);
});
