/** Buttons for keys, and random actions. */

import { describe, expect, it } from "vitest";
import { nameOfKey, randomAction, touchKeys } from "../../../../web/dashboard/src/game/actions.ts";

const KEYS = { ArrowLeft: 0, ArrowRight: 1, KeyA: 0 };

describe("touchKeys", () => {
  it("has one button per action, arrows in their places", () => {
    const action = { kind: "discrete", n: 3, labels: ["left", "right", "fire"] } as const;
    const buttons = touchKeys({ keys: { ...KEYS, Space: 2 }, action } as never);
    expect(buttons).toEqual([
      { action: 0, label: "←", codes: ["ArrowLeft", "KeyA"], place: "left" },
      { action: 1, label: "→", codes: ["ArrowRight"], place: "right" },
      { action: 2, label: "fire", codes: ["Space"], place: null },
    ]);
  });
});

describe("nameOfKey", () => {
  it("is what stands on the key", () => {
    expect(["ArrowUp", "KeyW", "Digit3", "Space"].map(nameOfKey)).toEqual(["↑", "W", "3", "Space"]);
  });
});

describe("randomAction", () => {
  const draws = (values: number[]) => () => values.shift() as number;
  it("of each space, from the draws in order", () => {
    expect(randomAction({ kind: "discrete", n: 4, labels: null }, draws([0.99]))).toBe(3);
    expect(randomAction({ kind: "multi_discrete", nvec: [2, 3] }, draws([0.5, 0.34]))).toEqual([1, 1]);
    expect(randomAction({ kind: "multi_binary", n: 2 }, draws([0.1, 0.9]))).toEqual([0, 1]);
    const box = {
      kind: "box",
      dtype: "float32",
      shape: [3],
      low: [0, -2, null],
      high: [1, 2, null],
    } as const;
    expect(randomAction(box as never, draws([0.25, 0.25, 0.25]))).toEqual([0.25, -1, -0.5]);
  });

  it("never leaves the space, even for a draw of one", () => {
    expect(randomAction({ kind: "discrete", n: 4, labels: null }, draws([1]))).toBe(3);
  });
});
