import type { GameDefinition } from "attract/contract";
import { type ActionSpace, box, discrete, multiBinary, multiDiscrete } from "attract/spaces";
import { expect, test } from "vitest";
import { heldActions, idleAction, MAX_HELD } from "../../../web/playtest/src/held-actions.ts";
import golden from "../../contract/golden/held_actions.json";

test.each(golden)("$space has as many as the server counts", ({ space, count }) => {
  expect(heldActions(space as ActionSpace)).toHaveLength(count);
});

test("each choice, and of several each one beside zeros", () => {
  expect(heldActions(discrete(3))).toEqual([[0], [1], [2]]);
  expect(heldActions(multiDiscrete([3, 2]))).toEqual([
    [1, 0],
    [2, 0],
    [0, 1],
  ]);
  expect(heldActions(multiBinary(2))).toEqual([
    [1, 0],
    [0, 1],
  ]);
});

test("both ends of a box beside what is 0 in the game's units", () => {
  // 0 is a quarter of the way from -1 to 3: -0.5 in [-1, 1].
  expect(heldActions(box({ shape: [2], low: -1, high: 3 }))).toEqual([
    [-1, -0.5],
    [1, -0.5],
    [-0.5, -1],
    [-0.5, 1],
  ]);
  // Out of reach: the nearest that is there.
  expect(idleAction({ action: box({ shape: [1], low: 2, high: 3 }) } as GameDefinition)).toEqual([-1]);
});

test("many are thinned out evenly, from the first on", () => {
  const held = heldActions(discrete(2 * MAX_HELD));
  expect(held).toEqual(Array.from({ length: MAX_HELD }, (_, i) => [2 * i]));
});

test("idle is the game's own idle action, by its label or as numbers", () => {
  const definition = (action: ActionSpace, idle?: GameDefinition["idle"]) =>
    ({ action, idle }) as GameDefinition;
  expect(idleAction(definition(discrete(["left", "stay"]), "stay"))).toEqual([1]);
  expect(idleAction(definition(discrete(["left", "stay"])))).toEqual([0]);
  expect(idleAction(definition(box({ shape: [1], low: 0, high: 4 }), [3]))).toEqual([0.5]);
});
