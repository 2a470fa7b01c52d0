/** Buttons for keys, and random actions. */

import { describe, expect, it } from "vitest";
import { touchKeys } from "../../../../web/dashboard/src/game/actions.ts";

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
