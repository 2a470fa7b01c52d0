/** What a person does on the stage: buttons, keys and pointers, recorded as the wire has actions, reach the game as its record will. */

import { createSampler } from "@attract/worker/policy/sampler";
import { KeyRelay } from "@attract/worker/stage/key-relay";
import { pointerKeys, pointerPlaces, pointOnPage, pressedPointer } from "@attract/worker/stage/pointer-keys";
import { definePageGame } from "attract/page";
import { createKeyboard } from "attract/page/keyboard";
import { box, discrete, mixed, multiDiscrete } from "attract/spaces";
import { describe, expect, it, test } from "vitest";
import { recordedActions, throughUnitBox } from "../../../../web/worker/src/stage/hand-actions.ts";

test("a choice is its number, and who does not take part has zeros", () => {
  expect([...recordedActions(discrete(3), 1, 2, Uint8Array.of(1))]).toEqual([2]);
  const both = [
    [1, 2],
    [1, 1],
  ];
  expect([...recordedActions(multiDiscrete([2, 3]), 2, both, Uint8Array.of(1, 0))]).toEqual([1, 2, 0, 0]);
});

test("P6: a mixed action reaches the game as its record will", () => {
  const space = mixed({ aim: box({ shape: [2], low: 0, high: [800, 600] }), button: discrete(3) });
  const given = throughUnitBox(space, [2, 123.4, 999]);
  const row = recordedActions(space, 1, given, Uint8Array.of(1));
  expect(row[0]).toBe(2);
  expect([row[1], row[2]].every((unit) => Math.abs(unit) <= 1)).toBe(true);
  const sampler = createSampler(space, 1);
  sampler.give(row, 0, 0);
  expect([...(sampler.gameAction(0) as Float32Array)]).toEqual([...given]);
  expect(given[2]).toBe(600);
});

test("P6: a continuous action reaches the game as its record will", () => {
  const space = box({ shape: [2], low: [-2, 0], high: [2, 10] });
  for (const wanted of [
    [-2, 10],
    [0.3, 7.7],
    [99, -99],
  ]) {
    const given = throughUnitBox(space as never, wanted);
    const unit = Float32Array.from(recordedActions(space, 1, given, Uint8Array.of(1)));
    const sampler = createSampler(space, 1);
    sampler.give(unit, 0, 0);
    expect([...(sampler.gameAction(0) as Float32Array)]).toEqual([...given]);
    expect(unit.every((u) => Math.abs(u) <= 1)).toBe(true);
    wanted.forEach((value, c) => {
      const [low, high] = [
        [-2, 0],
        [2, 10],
      ];
      expect(given[c]).toBeCloseTo(Math.min(high[c], Math.max(low[c], value)), 5);
    });
  }
});

const GAME = {
  keys: { ArrowLeft: 0, ArrowRight: 1 },
  idle_action: 2,
  action: { kind: "discrete", n: 3, labels: null },
} as const;

describe("KeyRelay", () => {
  it("a button held is a key held", () => {
    const relay = new KeyRelay();
    const keyboard = createKeyboard(GAME as never, relay);
    expect(keyboard.choose()).toBe(2);
    relay.press("ArrowRight");
    expect(keyboard.choose()).toBe(1);
    expect(keyboard.choose()).toBe(1);
    relay.release("ArrowRight");
    expect(keyboard.choose()).toBe(2);
  });

  it("lets everything go at once", () => {
    const relay = new KeyRelay();
    const keyboard = createKeyboard(GAME as never, relay);
    relay.press("ArrowLeft");
    expect(keyboard.choose()).toBe(0);
    relay.releaseAll();
    expect(keyboard.choose()).toBe(2);
  });

  it("after dispose nothing is heard", () => {
    const relay = new KeyRelay();
    const keyboard = createKeyboard(GAME as never, relay);
    keyboard.dispose();
    relay.press("ArrowRight");
    expect(keyboard.choose()).toBe(2);
  });
});

/** A page of 400 x 200 on a screen of 300 x 300: half as large as it is would be 200 x 100, it is 300 x 150, 75 from the top. */
const PLACES = {
  size: [400, 200],
  places: { left: [100, 100], right: [300, 100, "move"] },
  hows: null,
} as const;
const SCREEN = { width: 300, height: 300 };

test.each([
  [{ x: 0, y: 75 }, { x: 0, y: 0 }, "pointer:left"],
  [{ x: 149, y: 150 }, { x: 198.66666666666666, y: 100 }, "pointer:left"],
  [{ x: 151, y: 150 }, { x: 201.33333333333334, y: 100 }, "pointer:right"],
  [{ x: 300, y: 225 }, { x: 400, y: 200 }, "pointer:right"],
  [{ x: 151, y: 74 }, null, null],
  [{ x: 151, y: 226 }, null, null],
])("a press at %o is one at %o of the page, %s", (point, ofPage, code) => {
  const found = pointOnPage(PLACES.size, SCREEN, point);
  expect(found).toEqual(ofPage);
  expect(found === null ? null : pressedPointer(PLACES, found, 1)).toBe(code);
});

test("there is nothing to point at without places", () => {
  expect(pressedPointer({ size: [4, 4], places: {}, hows: null }, { x: 1, y: 1 }, 1)).toBeNull();
  expect(pointerPlaces({ size: [4, 4], pointers: {} } as never)).toBeNull();
});

test("each place's key stands for its action", () => {
  const page = { labels: ["wait", "left", "right"], pointers: PLACES.places };
  expect(pointerKeys({ page } as never)).toEqual({ "pointer:left": 1, "pointer:right": 2 });
});

test("where the pointer's place is part of the action, its buttons press the labels that do so", () => {
  const definition = definePageGame({
    id: "Aim-v1",
    page: "index.html",
    observation: box({ shape: [1], low: 0, high: 1 }),
    observe: () => [0],
    score: () => 0,
    over: () => false,
    action: mixed({
      aim: box({ shape: [2], low: 0, high: [400, 200] }),
      button: discrete(["hold", "fire", "mine"]),
      legs: discrete(["stand", "run"]),
    }),
    keys: { run: ["ShiftLeft"] },
    pointers: { aim: "move", fire: "press", mine: "right" },
  });
  const places = pointerPlaces(definition.page!)!;
  expect(places.hows).toEqual({ fire: "press", mine: "right" });
  const codes = [0, 1, 2, 3, 4].map((buttons) => pressedPointer(places, { x: 9, y: 9 }, buttons));
  expect(codes).toEqual([null, "pointer:fire", "pointer:mine", "pointer:fire", null]);
  expect(pointerKeys(definition)).toEqual({ "pointer:fire": [1, 0, 0, 0], "pointer:mine": [2, 0, 0, 0] });
});
