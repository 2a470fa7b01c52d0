import { expect, test } from "vitest";
import type { Direction } from "../../../web/page-probe/src/effects.ts";
import type { Place, Seen } from "../../../web/page-probe/src/places.ts";
import { axisOf, playersOf, pointerSeen, relativeAxes } from "../../../web/page-probe/src/player.ts";

function place(text: string, kind: Place["kind"] = "number"): Place {
  return { text, name: text, kind, fields: [], isShown: false, read: () => undefined };
}

function seen(text: string, scales: number[], fields: string[] = [], count = 1): Seen {
  return { place: place(text, fields.length === 0 ? "number" : "list"), scales, fields, count };
}

function move(label: string, effects: Record<string, Direction>) {
  return { label, input: { keys: [label] }, effects: new Map(Object.entries(effects)) };
}

test.each([
  ["w.player?.x", "x"],
  ["w.ballY", "y"],
  ["w.bX", "x"],
  ["w.pos_y", "y"],
  ["w.player?.centerX", "x"],
  ["w.player?.vx", null],
  ["w.dirX", null],
  ["w.mouseX", null],
  ["w.velocity?.x", null],
  ["w.ball?.speed?.y", null],
  ["w.max", null],
  ["w.index", null],
  ["w.ship?.pos?.[0]", "x"],
  ["position.1", "y"],
  ["w.ship?.pos?.[2]", null],
  ["w.ship?.vel?.[0]", null],
  ["w.stones?.[0]", null],
])("%s is a place on the axis %s", (text, axis) => expect(axisOf(text)).toBe(axis));

test("the player is what moves move both ways, not what they hit; its other axis may stand still", () => {
  const moves = [
    move("left", { "w.bX": "both", "w.paddle?.x": "down" }),
    move("right", { "w.bX": "both", "w.paddle?.x": "up" }),
  ];
  const places = ["w.bX", "w.bY", "w.paddle?.x", "w.paddle?.y"].map((text) => place(text));
  expect(playersOf(moves, places, [])).toEqual({
    state: { x: "w.paddle?.x", y: "w.paddle?.y" },
    drawn: null,
  });
  expect(playersOf(moves, places.slice(0, 3), []).state).toEqual({ x: "w.paddle?.x", y: null });
  expect(playersOf([], places, []).state).toBeNull();
});

test("the player's place may be a row of numbers", () => {
  const places = ["w.ship?.pos?.[0]", "w.ship?.pos?.[1]", "w.ship?.vel?.[0]"].map((text) => place(text));
  const moves = [move("up", { "w.ship?.pos?.[1]": "down", "w.ship?.vel?.[0]": "up" })];
  const state = { x: "w.ship?.pos?.[0]", y: "w.ship?.pos?.[1]" };
  expect(playersOf(moves, places, []).state).toEqual(state);
  const own = [seen(state.x, [1000]), seen(state.y, [1000])];
  const stones = seen("w.stones", [1000, 1000, 5], ["pos.0", "pos.1", "vel.0"], 3);
  expect(relativeAxes(stones, state, own)).toEqual(["x", "y", null]);
});

test("among what is drawn the player is a single thing, which most moves move", () => {
  const [ship, shots, tail] = ["ship", "shots", "a"].map(
    (look) => `drawn(w).things(${JSON.stringify(look)})`,
  );
  const moves = [
    move("left", { [ship]: "changed" }),
    move("fire", { [ship]: "changed", [shots]: "up", [tail]: "changed" }),
  ];
  const found = [seen(ship, [1], ["x"]), seen(shots, [1], ["x"], 4), seen(tail, [1], ["x"])];
  expect(playersOf(moves, [], found).drawn).toEqual({ x: `${ship}[0]?.x`, y: `${ship}[0]?.y` });
});

test("places are relative to the player where they have its unit; its own place and speeds are not", () => {
  const player = { x: "w.me?.x", y: null };
  const own = seen("w.me?.x", [800]);
  const axes = (one: Seen) => relativeAxes(one, player, [own]);
  expect(axes(own)).toEqual([null]);
  expect(axes(seen("w.ball?.x", [1000]))).toEqual(["x"]);
  expect(axes(seen("w.ball?.y", [1000]))).toEqual([null]);
  // A cell of a board of 20 is not a pixel of 800.
  expect(axes(seen("w.cell?.x", [20]))).toEqual([null]);
  expect(axes(seen("w.stones", [800, 600, 10], ["x", "y", "vx"], 3))).toEqual(["x", null, null]);
  expect(relativeAxes(seen("w.ball?.x", [1000]), null, [own])).toEqual([null]);
});

test("where moves of the pointer have an effect it is seen, and is the player unless something follows it", () => {
  const pointing = (label: string, x: number, isDown: boolean, effects: Record<string, Direction>) => ({
    ...move(label, effects),
    input: { keys: [], pointer: [x, 9, isDown ? "press" : "move"] as const },
  });
  const places = ["w.ballX", "w.paddleX"].map((text) => place(text));
  const moves = [
    pointing("left", 10, false, { "w.ballX": "down" }),
    pointing("right", 90, false, { "w.ballX": "down" }),
  ];
  expect(pointerSeen(moves, [800, 600]).map(({ place: { text }, scales }) => [text, scales])).toEqual([
    ["w.pointerAt?.x", [800]],
    ["w.pointerAt?.y", [600]],
  ]);
  expect(playersOf(moves, places, []).state).toEqual({ x: "w.pointerAt?.x", y: "w.pointerAt?.y" });
  const followed = [
    pointing("left", 10, false, { "w.ballX": "down", "w.paddleX": "down" }),
    pointing("right", 90, false, { "w.ballX": "down", "w.paddleX": "up" }),
  ];
  expect(playersOf(followed, places, []).state).toEqual({ x: "w.paddleX", y: null });
  // A click is somewhere else each time, whatever was pointed at before.
  expect(pointerSeen([pointing("click", 10, true, {})], [800, 600])).toEqual([]);
});
