/** Which of an engine's scenes may restart the game. */

import { expect, test } from "vitest";
import type { End } from "../../../web/page-probe/src/ends.ts";
import type { EngineHooks } from "../../../web/page-probe/src/engines.ts";
import type { Place } from "../../../web/page-probe/src/places.ts";
import { scenesOf } from "../../../web/page-probe/src/restarts.ts";

const SCENE = "w.k.getSceneName()";

function place(text: string): Place {
  return { text, name: "scene", kind: "word", fields: [], isShown: false, read: () => undefined };
}

const HOOKS: EngineHooks = {
  global: "k",
  roots: [{ text: SCENE, name: "scene", read: () => undefined }],
  begin: (scene) => `w.k.go(${JSON.stringify(scene)})`,
  seed: null,
};
const LOST: End = {
  place: place(SCENE),
  text: `${SCENE} === "lost"`,
  why: "",
  isOver: (name) => name === "lost",
};

test("the scene that comes before the end is the game's own, those of its menu come after it", () => {
  const places = [place("w.other"), place(SCENE)];
  const rows = ["title", "title", "title", "play", "lost", "lost", "title", "play"].map((name) => [1, name]);
  expect(scenesOf([{ places, rows }], HOOKS, LOST)).toEqual(["play", "title"]);
});

test("without an end among them the last that was seen comes first, and what was not sampled gives none", () => {
  const rows = ["title", "play"].map((name) => [name]);
  expect(scenesOf([{ places: [place(SCENE)], rows }], HOOKS, null)).toEqual(["play", "title"]);
  expect(scenesOf([{ places: [place("w.other")], rows }], HOOKS, LOST)).toEqual([]);
});
