/** A pointer on the screen, as the keys of the places that an adapter names. */

import { nearestPointer, pointerKeys } from "@attract/worker/stage/pointer-keys";
import { expect, test } from "vitest";

/** A page of 400 x 200 on a screen of 300 x 300: half as large as it is would be 200 x 100, it is 300 x 150, 75 from the top. */
const PLACES = { size: [400, 200], places: { left: [100, 100], right: [300, 100, "move"] } } as const;
const SCREEN = { width: 300, height: 300 };

test.each([
  [{ x: 0, y: 75 }, "pointer:left"],
  [{ x: 149, y: 150 }, "pointer:left"],
  [{ x: 151, y: 150 }, "pointer:right"],
  [{ x: 300, y: 225 }, "pointer:right"],
  [{ x: 151, y: 74 }, null],
  [{ x: 151, y: 226 }, null],
])("a press at %o is %s", (point, code) => {
  expect(nearestPointer(PLACES, SCREEN, point)).toBe(code);
});

test("there is nothing to point at without places", () => {
  expect(nearestPointer({ size: [4, 4], places: {} }, SCREEN, { x: 150, y: 150 })).toBeNull();
});

test("each place's key stands for its action", () => {
  const adapter = { labels: ["wait", "left", "right"], pointers: PLACES.places };
  expect(pointerKeys(adapter as never)).toEqual({ "pointer:left": 1, "pointer:right": 2 });
});
