/** What KAPLAY shows, by its text objects; the engine itself draws it. */

import kaplay from "kaplay";
import { afterEach, expect, test } from "vitest";
import { drawn } from "../../../../web/sdk/src/page/drawn.ts";
import { kaplayTexts } from "../../../../web/sdk/src/page/kaplay.ts";
import type { PageWindow } from "../../../../web/sdk/src/page-adapter.ts";
import { near, opened } from "./canvas-page.ts";

let quit: (() => void) | null = null;

afterEach(() => {
  quit?.();
  quit = null;
});

test("texts are read where they stand, and those that are not shown are not", () => {
  const page = opened();
  const k = kaplay({ global: false, width: 400, height: 200, canvas: document.createElement("canvas") });
  quit = () => k.quit();
  document.body.append(k.canvas);
  k.add([k.text("Score: 7"), k.pos(200, 100), k.anchor("center")]);
  k.add([k.text("GAME OVER"), k.pos(0, 0), k.opacity(0)]);
  k.add([k.text("later"), k.pos(0, 0)]).hidden = true;
  k.add([k.rect(20, 20), k.pos(30, 40)]).add([k.text("inner"), k.pos(1, 1)]);
  page.k = k;
  const texts = kaplayTexts(page as PageWindow);
  expect(texts.map(({ name }) => name)).toEqual(["Score: 7", "inner"]);
  const frame = k.canvas.getBoundingClientRect();
  near([...texts[0].place], frame.left + frame.width / 2, frame.top + frame.height / 2);
  expect(drawn(page).number("Score: #")).toBe(7);
  expect(drawn(page).says("GAME OVER")).toBe(false);
});

test("a page without the engine has none of its texts", () => {
  const page = opened();
  page.k = { get: () => [] };
  expect(kaplayTexts(page as PageWindow)).toEqual([]);
});
