/** Held actions under masks: of a mixed action only its choices are forbidden. */

import { box, discrete, mixed } from "attract/spaces";
import { expect, test } from "vitest";
import { holding, isAllowed } from "../../../../web/playtest/src/drills/drill-copy.ts";

const game = {
  action: mixed({ aim: box({ shape: [2], low: 0, high: 9 }), button: discrete(2), gear: discrete(3) }),
} as never;

function masked(mask: number[]) {
  return { numAgents: 1, masks: [Uint8Array.from(mask)], active: Uint8Array.of(1) } as never;
}

test("numbers stay, and of each choice the first that is allowed is taken", () => {
  const held = [1, 0, 7.5, 3];
  expect(holding(game, held)(masked([1, 1, 1, 1, 1]))).toEqual([1, 0, 7.5, 3]);
  expect(holding(game, held)(masked([1, 0, 0, 0, 1]))).toEqual([0, 2, 7.5, 3]);
  expect(isAllowed(game, masked([0, 1, 1, 0, 0]), held)).toBe(true);
  expect(isAllowed(game, masked([0, 1, 0, 1, 0]), held)).toBe(false);
});
