import { expect, test } from "vitest";
import { stepTicksOf } from "../../../web/page-probe/src/game-step.ts";
import type { Place } from "../../../web/page-probe/src/places.ts";
import type { Samples } from "../../../web/page-probe/src/trial.ts";

const THING = 'drawn(w).things("head")';
const PLACES = ["w.head?.x", THING, "w.frames"].map(
  (text): Place => ({ text, name: text, kind: "number", fields: [], isShown: false, read: () => undefined }),
);
const STATE = { state: { x: "w.head?.x", y: null }, drawn: null };

/** A head that moves in these frames of 200; its picture follows a frame later. */
function play(isMove: (tick: number) => boolean): Samples {
  let x = 0;
  const rows = Array.from({ length: 200 }, (_, tick) => {
    const before = x;
    if (isMove(tick)) x++;
    return [x, [1, before], tick];
  });
  return { places: PLACES, rows };
}

test("a game that moves once in twelve frames has steps of twelve", () => {
  const moved = play((tick) => tick % 12 === 5);
  expect(stepTicksOf([moved], STATE)).toBe(12);
  const drawn = { x: `${THING}[0]?.x`, y: `${THING}[0]?.y` };
  expect(stepTicksOf([moved], { state: null, drawn })).toBe(12);
  // Once in forty frames: a player decides more often than that.
  const slow = play((tick) => tick % 40 === 5);
  expect(stepTicksOf([slow, slow, slow], STATE)).toBe(15);
});

test("one that moves more often, or hardly, says nothing", () => {
  expect(stepTicksOf([play((tick) => tick % 12 === 5 || tick === 20)], STATE)).toBeNull();
  expect(stepTicksOf([play((tick) => tick === 20 || tick === 40)], STATE)).toBeNull();
  expect(stepTicksOf([play((tick) => tick % 12 === 5)], { state: null, drawn: null })).toBeNull();
});
