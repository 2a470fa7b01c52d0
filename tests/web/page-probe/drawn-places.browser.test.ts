/** What a page draws, as an adapter could read it: which looks are one thing, which numbers a text tells, what ends a game. */

import { expect, test } from "vitest";
import { drawnIn, isDrawnThing, Movements, widest } from "../../../web/page-probe/src/drawn-places.ts";
import { isWaiting, promptsIn } from "../../../web/page-probe/src/start-actions.ts";
import { drawn } from "../../../web/sdk/src/page/drawn.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../support/blank-page.ts";

function open(): { window: PageWindow; context: CanvasRenderingContext2D } {
  const window = blankPage();
  window.document.body.innerHTML = '<canvas width="200" height="100"></canvas>';
  drawn(window);
  return { window, context: window.document.querySelector("canvas").getContext("2d") };
}

function readingsOf(window: PageWindow, written: readonly string[] = []): Record<string, unknown> {
  return Object.fromEntries(drawnIn(window, written).map((place) => [place.text, place.read(window)]));
}

test("things are lists by the narrowest look that they share; a background is none", () => {
  const { window, context } = open();
  context.fillStyle = "green";
  context.fillRect(0, 50, 200, 45);
  context.fillStyle = "red";
  for (const width of [10, 11, 12, 13, 14, 15, 16, 17, 18]) context.fillRect(20 * (width - 10), 0, width, 5);
  context.fillStyle = "blue";
  for (const x of [10, 50]) context.fillRect(x, 10, 20, 10);
  context.fillRect(80, 10, 4, 4);
  const found = readingsOf(window);
  expect(Object.keys(found)).toEqual([
    'drawn(w).things("rect #ff0000")',
    'drawn(w).things("rect #0000ff 20x10")',
    'drawn(w).things("rect #0000ff 4x4")',
  ]);
  expect(found['drawn(w).things("rect #0000ff 20x10")']).toEqual([
    2,
    ...[0.1, 0.15, 0, 0, 0.1, 0.1],
    ...[0.3, 0.15, 0, 0, 0.1, 0.1],
  ]);
  const places = drawnIn(window);
  expect(places.every(isDrawnThing)).toBe(true);
  const narrower = places.map((place) => ({ ...place, name: "rect #ff0000 10x5" }));
  expect(widest([narrower[0], ...places])).toEqual(places);
});

test("parts of an image are several things where several are there, and movements of one where one is", async () => {
  const { window, context } = open();
  const image = window.document.createElement("img");
  image.src = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="16"/>')}`;
  await image.decode();
  context.drawImage(image, 0, 0, 16, 16, 10, 10, 16, 16);
  expect(Object.keys(readingsOf(window))).toEqual(['drawn(w).things("image 16x16")']);
  context.drawImage(image, 16, 0, 16, 16, 50, 10, 16, 16);
  expect(Object.keys(readingsOf(window))).toEqual([
    'drawn(w).things("image 16x16 @0,0")',
    'drawn(w).things("image 16x16 @16,0")',
  ]);
});

test("numbers go by the words beside them, also those of texts that are not there any more", () => {
  const { window, context } = open();
  for (const [i, text] of ["Score: 12", "Lives: 3 of 5", "7", "9"].entries())
    context.fillText(text, 10, 20 * i + 10);
  const places = drawnIn(window, ["Score: 11", "Level 2", "GAME OVER", "Press Space to start", "Nothing"]);
  expect(places.map(({ text, name, kind }) => [text, name, kind])).toEqual([
    ['drawn(w).number("Score: #")', "Score", "number"],
    ['drawn(w).number("Lives: # of #")', "Lives", "number"],
    ['drawn(w).number("Lives: # of #", 1)', "of", "number"],
    ['drawn(w).number("#")', "written", "number"],
    ['drawn(w).number("#", 1)', "written", "number"],
    ['drawn(w).number("Level #")', "Level", "number"],
    ['drawn(w).says("GAME OVER")', "GAME OVER", "truth"],
    ['drawn(w).says("Press Space to start")', "Press Space to start", "truth"],
  ]);
  expect(places.map((place) => place.read(window))).toEqual([12, 3, 5, 7, 9, undefined, false, false]);
});

test("a menu asks to be begun, and a countdown to be waited for", () => {
  const { window, context } = open();
  window.document.body.append("Click here to play");
  context.fillText("Press N to start a new game", 10, 10);
  context.fillText("Press up to jump", 10, 30);
  const asked = ["Press N to start a new game", "Click here to play"];
  expect(promptsIn(window)).toEqual(asked);
  expect(isWaiting(asked, asked)).toBe(true);
  expect(isWaiting(["Press any key"], asked)).toBe(false);
  expect(isWaiting(["Starting in: 3"], asked)).toBe(true);
  expect(isWaiting([], asked)).toBe(false);
});

test("elements that have a place of their own are things, each class once", () => {
  const { window } = open();
  window.document.body.insertAdjacentHTML(
    "beforeend",
    `<div class="pipe upper" style="position: absolute; width: 20px; height: 20px"></div>
     <div class="pipe lower" style="position: absolute; width: 20px; height: 20px; top: 80px"></div>
     <div id="bird" style="transform: translate(5px, 5px); width: 20px; height: 20px"></div>
     <div class="sky" style="position: absolute; inset: 0"></div>
     <p class="words">Nothing to see here</p>`,
  );
  const found = readingsOf(window);
  expect(Object.keys(found)).toEqual(['drawn(w).things(".pipe")', 'drawn(w).things("#bird")']);
  expect((found['drawn(w).things(".pipe")'] as number[])[0]).toBe(2);
});

test("sizes of one colour are one look where they move alike, and looks of their own where they do not", async () => {
  const { window, context } = open();
  const movements = new Movements();
  const known = new Map<string, ReturnType<typeof drawnIn>[number]>();
  /** Obstacles of chance widths come from the right, one after the other; a red ball falls past a red paddle. */
  for (let frame = 0; frame < 60; frame++) {
    context.clearRect(0, 0, 200, 100);
    context.fillStyle = "#ff00ff";
    context.fillRect(190 - 8 * (frame % 20), 0, 42 + 20 * Math.floor(frame / 20), 24);
    context.fillStyle = "#ff0000";
    context.fillRect(90, 90, 40, 8);
    context.fillRect(100, 30 + frame, 6, 6);
    context.fillStyle = "#00ffff";
    context.fillRect(20, 50 + (frame % 2), 30, 10);
    for (const place of drawnIn(window)) known.set(place.text, place);
    const places = [...known.values()];
    movements.add(places, [places.map((place) => place.read(window))]);
    await new Promise((resolve) => window.requestAnimationFrame(resolve));
  }
  const looks = widest([...known.values()], movements).map(({ name }) => name);
  expect(looks.sort()).toEqual(["rect #00ffff", "rect #ff0000 40x8", "rect #ff0000 6x6", "rect #ff00ff"]);
  // A size that has just come moves like the others as far as is known.
  const late = { ...[...known.values()][0], name: "rect #ff00ff 99x24", text: "drawn(w).things(1)" };
  expect(widest([...known.values(), late], movements)).toHaveLength(4);
});
