/** Stacks of pictures as a definition declares them: what cannot be one is named. */

import { expect, describe as group, test } from "vitest";
import type { GameDefinition } from "../../../web/sdk/src/contract.ts";
import { describe } from "../../../web/sdk/src/description.ts";
import { pictureStacks } from "../../../web/sdk/src/picture-stacks.ts";
import { box, dict, discrete } from "../../../web/sdk/src/spaces.ts";
import { countingGame } from "./counting-game.ts";

const PIXELS = box({ dtype: "uint8", shape: [4, 4, 6] });

function game(options: Partial<GameDefinition>): GameDefinition {
  return { ...countingGame(), ...options };
}

test("by the name of the observation, in the description", () => {
  const alone = game({ observation: PIXELS, pictureStacks: { obs: 3 } });
  expect(pictureStacks(alone)).toEqual({ obs: 3 });
  expect(describe(alone).picture_stacks).toEqual({ obs: 3 });
  const beside = game({
    observation: dict({ eye: PIXELS, time: box({ shape: [1] }) }),
    pictureStacks: { eye: 2 },
  });
  expect(describe(beside).picture_stacks).toEqual({ eye: 2 });
  expect(describe(countingGame()).picture_stacks).toEqual({});
});

group("what cannot be one", () => {
  const eye = dict({ eye: PIXELS, choice: discrete(2), bytes: box({ dtype: "uint8", shape: [6] }) });
  test.each([
    [
      game({ observation: PIXELS, pictureStacks: { pixels: 2 } }),
      "pictureStacks.pixels: is no observation; there are obs",
    ],
    [game({ observation: eye, pictureStacks: { obs: 2 } }), "there are eye, choice, bytes"],
    [game({ observation: eye, pictureStacks: { toString: 2 } }), "is no observation"],
    [game({ observation: eye, pictureStacks: { choice: 2 } }), 'must be a box of dtype "uint8"'],
    [game({ observation: eye, pictureStacks: { bytes: 2 } }), "shape [rows, columns, channels]"],
    [game({ observation: box({ shape: [4, 4, 6] }), pictureStacks: { obs: 2 } }), 'dtype "uint8"'],
    [game({ observation: PIXELS, pictureStacks: { obs: 4 } }), "6 channels are not 4 pictures of equal size"],
    [
      game({ observation: PIXELS, pictureStacks: { obs: 1 } }),
      "pictureStacks.obs: must be at least 2, got 1",
    ],
    [game({ observation: PIXELS, pictureStacks: { obs: 2.5 } }), "must be a whole number, got 2.5"],
    [
      game({ observation: PIXELS, pictureStacks: { obs: "2" as unknown as number } }),
      "must be a whole number",
    ],
  ])("%#", (wrong, text) => {
    expect(() => describe(wrong)).toThrow(text);
  });
});
