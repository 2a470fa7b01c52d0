import { box, defineGame, dict, discrete, multiBinary } from "attract";
import type { GameOptions } from "attract/contract";
import { expect, test } from "vitest";
import { stepValues } from "../../../web/sdk/src/failed-step.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";

function instanceOf(options: Partial<GameOptions>, observation: unknown) {
  const definition = defineGame({
    id: "G",
    tickSeconds: 1,
    observation: box({ shape: [2] }),
    action: discrete(["left", "right"]),
    create: () => ({ start: () => observation, update: () => ({ reward: 0 }) }) as never,
    ...options,
  });
  const instance = createInstance(definition);
  instance.start(0);
  return { definition, instance };
}

test("an action is told by its number and label, an observation by its numbers", () => {
  const { definition, instance } = instanceOf({}, [1 / 3, 2]);
  expect(stepValues(definition, instance, "update", 1)).toBe('action 1 ("right"), observation [0.3333, 2]');
  expect(stepValues(definition, instance, "update", null)).toBe("observation [0.3333, 2]");
  expect(stepValues(definition, instance, "start", 1)).toBe("");
});

test("dicts are told by entry, agents one by one, long ones by their beginning and size", () => {
  const space = dict({ far: box({ shape: [20] }), on: multiBinary(2) });
  const one = { far: new Array(20).fill(0.5), on: [1, 0] };
  const { definition, instance } = instanceOf({ numAgents: 2, observation: space }, [one, one]);
  const text = stepValues(definition, instance, "update", [0, 1]);
  expect(text).toContain("action [0, 1], observation[0].far [0.5, 0.5,");
  expect(text).toContain("... 20 numbers], observation[0].on [1, 0], observation[1].far");
});

test("the line is of bounded length", () => {
  const spaces = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`e${i}`, box({ shape: [12] })]));
  const values = Object.fromEntries(Object.keys(spaces).map((name) => [name, new Array(12).fill(0.1234)]));
  const { definition, instance } = instanceOf({ observation: dict(spaces) }, values);
  expect(stepValues(definition, instance, "update", 0)).toHaveLength(1_003);
});
