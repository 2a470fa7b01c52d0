/** What Phaser shows, by its objects. */

import { expect, test } from "vitest";
import { drawn } from "../../../../web/sdk/src/page/drawn.ts";
import { made } from "../../../../web/sdk/src/page/made.ts";
import { gameOf, PHASER, phaserSpots } from "../../../../web/sdk/src/page/phaser.ts";
import { spot } from "../../../../web/sdk/src/page/spot.ts";
import type { PageWindow } from "../../../../web/sdk/src/page-adapter.ts";
import { near, opened } from "./canvas-page.ts";

/** A game as Phaser's, with what hears the pointer in its scene. */
function phaser(
  page: PageWindow,
  list: object[],
  camera = { scrollX: 0, scrollY: 0, zoom: 1, x: 0, y: 0 },
): void {
  class Game {
    canvas = page.document.querySelector("canvas");
    scale = { width: 800, height: 400 };
    scene = { getScenes: () => [{ children: { list }, cameras: { main: camera } }] };
  }
  page.Phaser = { Game };
  page.lastGame = new page.Phaser.Game();
}

function object(x: number, y: number, more: object = {}): object {
  const getBounds = (): object => ({
    centerX: x,
    centerY: y,
    contains: (left: number, top: number) => Math.hypot(left - x, top - y) < 30,
  });
  return { visible: true, active: true, scrollFactorX: 1, scrollFactorY: 1, getBounds, ...more };
}

const HEARD = { input: { enabled: true } };

test("objects of Phaser that hear the pointer go by their words, by those over them, or by their picture", () => {
  const page = opened();
  phaser(page, [
    object(400, 200, { text: "PLAY", ...HEARD }),
    object(100, 300, { texture: { key: "blue-button" }, ...HEARD }),
    object(105, 305, { text: "Options" }),
    object(600, 300, { texture: { key: "cog" }, ...HEARD }),
    object(600, 100, { text: "gone", ...HEARD, visible: false }),
    object(600, 50, { text: "deaf" }),
    { list: [object(700, 350, { text: "inner", ...HEARD })] },
  ]);
  expect(phaserSpots(page).map(({ name }) => name)).toEqual(["PLAY", "Options", "cog", "inner"]);
  // The game's canvas of 800 x 400 is shown 400 pixels wide.
  near(spot(page, "PLAY"), 10 + 200, 10 + 100);
});

test("objects stand where the camera shows them", () => {
  const page = opened();
  phaser(page, [object(500, 300, { text: "PLAY", ...HEARD })], {
    scrollX: 100,
    scrollY: 50,
    zoom: 0.5,
    x: 20,
    y: 0,
  });
  near(spot(page, "PLAY"), 10 + (400 * 0.5 + 20) / 2, 10 + (250 * 0.5) / 2);
});

test("a page without Phaser, or one whose game is not made yet, has no such objects", () => {
  expect(phaserSpots(opened())).toEqual([]);
});

test("texts count as written where Phaser draws by WebGL, and are not counted twice where it draws on a 2D canvas", () => {
  const page = opened();
  const list = [object(400, 200, { text: "Score: 7" }), object(1, 1, { text: "hidden", visible: false })];
  phaser(page, list);
  expect(drawn(page).texts()).toEqual([]);
  page.lastGame.renderer = { gl: {} };
  expect(drawn(page).texts()).toEqual(["Score: 7"]);
  expect(drawn(page).number("Score: #")).toBe(7);
  near(spot(page, "Score: 7"), 10 + 200, 10 + 100);
});

/** As the constructor of Phaser's game does it, of which a bundle leaves no global. */
const BUNDLED = `(() => {
  class Game {
    isBooted = false; loop = {}; textures = {};
    constructor(canvas) {
      this.canvas = canvas;
      this.scale = { width: 800, height: 400 };
      this.scene = { getScenes: () => [] };
      setTimeout(this.boot.bind(this), 0);
    }
    boot() { this.step.bind(this); }
    step() {}
  }
  class Other { constructor() { this.go.bind(this); this.go.bind(null, 1); this.go.bind(window); } go() {} }
  new Other();
  window.kept = [new Game(document.querySelector("canvas")), new Game(null)];
  const add = function (by, to) { return this.from + by + to; };
  window.sum = add.bind({ from: 1 }, 2)(3);
})()`;

test("a game of Phaser's is reached that a bundler took from its modules, and functions are bound as ever", () => {
  const page = opened();
  expect(made(page, PHASER)).toEqual([]);
  page.eval(BUNDLED);
  expect(page.Phaser).toBeUndefined();
  expect(made(page, PHASER)).toHaveLength(2);
  expect(made(page, PHASER)[0]).toBe(page.kept[0]);
  expect(gameOf(page)).toBe(page.kept[1]);
  expect(page.sum).toBe(6);
});

test("a game whose class is a global and which binds is one game", () => {
  const page = opened();
  made(page, PHASER);
  page.eval(`window.Phaser = { Game: class {
    isBooted = false; loop = {}; textures = {}; scene = {}; scale = {};
    constructor() { (() => {}).bind(this); }
  } }; window.kept = new Phaser.Game()`);
  expect(made(page, PHASER)).toEqual([page.kept]);
});
