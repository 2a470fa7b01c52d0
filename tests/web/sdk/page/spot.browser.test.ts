/** Buttons that a page draws on a canvas: by the words that are written there, and by Phaser's objects. */

import { expect, test } from "vitest";
import { drawn } from "../../../../web/sdk/src/page/drawn.ts";
import { spot } from "../../../../web/sdk/src/page/spot.ts";
import { near, opened } from "./canvas-page.ts";

test("words stand where they are written, whatever they are aligned to", () => {
  const page = opened();
  const context = page.document.querySelector("canvas").getContext("2d");
  context.font = "bold 10px monospace";
  context.fillText("START", 20, 30);
  near(spot(page, "START"), 10 + 2 * 33, 10 + 2 * 26.5);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText("Options", 100, 80);
  near(spot(page, "nothing", "Options"), 10 + 2 * 100, 10 + 2 * 80);
  expect(spot(page, "START GAME")).toBeUndefined();
});

test("a text on a canvas of its own stands in the middle of that one, and its numbers are read", () => {
  const page = opened();
  const own = page.document.createElement("canvas");
  [own.width, own.height] = [60, 20];
  own.getContext("2d").fillText("Score: 12", 0, 15);
  page.document.querySelector("canvas").getContext("2d").drawImage(own, 100, 50);
  near(spot(page, "Score: 12"), 10 + 2 * 130, 10 + 2 * 60);
  expect(drawn(page).number("Score: #")).toBe(12);
  expect(drawn(page).things("canvas 60x20")).toHaveLength(1);
});

test("an image stands in its middle, by the name of its file", () => {
  const page = opened();
  const image = page.document.createElement("canvas");
  [image.width, image.height] = [40, 20];
  // As a loaded file, without one.
  Object.defineProperty(image, "src", { value: "https://example.org/art/btn-start.png?v=2" });
  page.document.querySelector("canvas").getContext("2d").drawImage(image, 100, 50);
  near(spot(page, "btn-start.png"), 10 + 2 * 120, 10 + 2 * 60);
  expect(
    drawn(page)
      .pictures()
      .map(({ name }) => name),
  ).toEqual(["btn-start.png"]);
});
