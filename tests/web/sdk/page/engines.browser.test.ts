/** What Phaser and KAPLAY show, by their objects (KAPLAY itself draws it), and buttons that a page draws. */

import kaplay from "kaplay";
import { afterEach, expect, test } from "vitest";
import { drawn } from "../../../../web/sdk/src/page/drawn.ts";
import { kaplayTexts } from "../../../../web/sdk/src/page/kaplay.ts";
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
