/** What stands beside the screen, for every kind of action. */

import { describe, expect, test } from "vitest";
import { choicesOf, MAX_CHOICES } from "../../../../web/dashboard/src/game/choices.ts";

const NONE = new Float64Array(0);

function of(action: unknown, taken: number | number[], probabilities: number[], keys = {}) {
  const decision = { action: taken, probabilities: Float64Array.from(probabilities) };
  return choicesOf({ action, keys } as never, decision);
}

describe("choicesOf", () => {
  test("one choice: its label, its keys, how likely it was, and whether it is held", () => {
    const space = { kind: "discrete", n: 3, labels: ["run", "jump", "duck"] };
    const keys = { Space: 1, ArrowUp: 1, ArrowDown: 2 };
    expect(of(space, 1, [0.25, 0.5, 0.25], keys)).toEqual([
      { label: "run", keys: [], probability: 0.25, isTaken: false },
      { label: "jump", keys: ["Space", "↑"], probability: 0.5, isTaken: true },
      { label: "duck", keys: ["↓"], probability: 0.25, isTaken: false },
    ]);
  });

  test("a person's choice has no probabilities, an unnamed one its number", () => {
    const choices = choicesOf(
      { action: { kind: "discrete", n: 2, labels: null }, keys: {} },
      {
        action: 0,
        probabilities: NONE,
      },
    );
    expect(choices.map(({ label, probability, isTaken }) => [label, probability, isTaken])).toEqual([
      ["0", null, true],
      ["1", null, false],
    ]);
  });

  test("several choices at once, and switches", () => {
    const several = of({ kind: "multi_discrete", nvec: [2, 3] }, [1, 2], [0.1, 0.9, 0.2, 0.3, 0.5]);
    expect(several.map(({ label, isTaken }) => [label, isTaken])).toEqual([
      ["1: 0", false],
      ["1: 1", true],
      ["2: 0", false],
      ["2: 1", false],
      ["2: 2", true],
    ]);
    const switches = of({ kind: "multi_binary", n: 3 }, [0, 1, 1], [0.2, 0.8, 0.7]);
    expect(switches.map(({ isTaken }) => isTaken)).toEqual([false, true, true]);
    expect(of({ kind: "box", shape: [2], low: -1, high: 1 }, [0.1, 0.2], [])).toEqual([]);
  });

  test("of many choices the likeliest are shown, and the one that is held, in the game's order", () => {
    const probabilities = Array.from({ length: 100 }, (_, i) => i / 4950);
    const shown = of({ kind: "discrete", n: 100, labels: null }, 0, probabilities);
    expect(shown.map(({ label }) => Number(label))).toEqual([
      0,
      ...Array.from({ length: MAX_CHOICES - 1 }, (_, i) => 100 - MAX_CHOICES + 1 + i),
    ]);
  });
});
