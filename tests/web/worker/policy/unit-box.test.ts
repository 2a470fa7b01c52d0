/** From unit space to a game's own units. */

import { UnitBox } from "@attract/worker/policy/unit-box";
import { box } from "attract/spaces";
import { expect, test } from "vitest";

test("P6: [-1, 1] becomes [low, high] per component; what lies outside is clipped, and the action stays as it is", () => {
  const unit = new UnitBox(box({ shape: [2], low: [-2, 0], high: [2, 10] }), 2);
  const actions = Float32Array.of(9, 9, 0.5, -0.5, -1.5, 1.5);
  const scaled = new Float32Array(6);
  unit.scale(actions, scaled, 1);
  // A quarter from the top of [-2, 2], a quarter from the bottom of [0, 10]; rows 0 and 2 are not touched.
  expect([...scaled]).toEqual([0, 0, 1, 2.5, 0, 0]);
  unit.scale(actions, scaled, 2);
  expect([...scaled]).toEqual([0, 0, 1, 2.5, -2, 10]);
  expect([...actions]).toEqual([9, 9, 0.5, -0.5, -1.5, 1.5]);
});

test("an unlimited box is given [-1, 1] itself", () => {
  const scaled = new Float32Array(1);
  new UnitBox(box({ shape: [1] }), 1).scale(Float32Array.of(-0.25), scaled, 0);
  expect(scaled[0]).toBe(-0.25);
});
