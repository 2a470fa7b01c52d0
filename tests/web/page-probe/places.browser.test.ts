import { expect, test } from "vitest";
import { engineOf, environmentOf, textState } from "../../../web/page-probe/src/contracts.ts";
import { engineHooks } from "../../../web/page-probe/src/engines.ts";
import { findPlaces, type Place } from "../../../web/page-probe/src/places.ts";
import {
  answersOf,
  globalsOf,
  groupsOf,
  pristineNames,
  scriptsOf,
  shownIn,
  shownInGroups,
  variablesOf,
} from "../../../web/page-probe/src/roots.ts";
import { keysNamed, startActionsOf } from "../../../web/page-probe/src/start-actions.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { loadedFrame } from "../../support/blank-page.ts";

async function open(page: string): Promise<PageWindow> {
  return (await loadedFrame({ srcdoc: page })).contentWindow;
}

function readingsOf(window: PageWindow, places: readonly Place[]): Record<string, unknown> {
  return Object.fromEntries(places.map((place) => [place.text, place.read(window)]));
}

async function kept(script: string): Promise<[PageWindow, Record<string, unknown>]> {
  const window = await open(`<script>${script}</script>`);
  const globals = globalsOf(window, pristineNames());
  const variables = variablesOf(window, await scriptsOf(window));
  return [window, readingsOf(window, findPlaces(window, [...globals, ...variables]))];
}

test("what an engine of physics keeps, and what a game is heard by, is not the game", async () => {
  const [, found] = await kept(`
    var Box2D = { Collision: { e_points: 1 } };
    var game = { score: 2, bgMusic: { seek: 3 }, movingSound: { seek: 4 }, soundOn: true };
  `);
  expect(found).toEqual({ "w.game?.score": 2, "w.game?.soundOn": true });
});

test("a place that is a row of numbers is read one by one, also in a list", async () => {
  const [window, found] = await kept(`
    var ship = { pos: [3, 4], row: [1, 2, 3, 4] };
    var stones = [{ pos: [7, 8], hp: 9 }, { pos: [5, 6], hp: 2 }];
  `);
  expect(found).toMatchObject({
    "w.ship?.pos?.[0]": 3,
    "w.ship?.pos?.[1]": 4,
    "w.ship?.row": [4, 1, 1, 2, 3, 4],
    // How many there are, and of each its place, and how much it stands.
    "w.stones": [2, 7, 8, 9, 5, 6, 2],
  });
  window.ship.pos = [5, 4];
  const [x] = findPlaces(window, globalsOf(window, pristineNames())).filter(
    ({ text }) => text === "w.ship?.pos?.[0]",
  );
  expect(x.read(window)).toBe(5);
});

test("globals, variables of scripts, classes' answers and what a class holds are found", async () => {
  const [, found] = await kept(`
    var lives = 3;
    let score = 5, ship;
    const { level } = { level: 2 };
    class Runner { #speed = 7; get speed() { return this.#speed; } static instance = new Runner(); }
    window.Runner = Runner;
    window.deep = { a: { b: { c: { on: true, mode: "play" } } } };
  `);
  expect(found).toMatchObject({
    "w.lives": 3,
    "w.lookInside().score": 5,
    "w.lookInside().level": 2,
    "w.Runner?.instance?.speed": 7,
    "w.deep?.a?.b?.c?.on": true,
    "w.deep?.a?.b?.c?.mode": "play",
  });
});

test("words between commas that are no names are no variables", async () => {
  const [window, found] = await kept(`
    let one = 1;
    [[1, null, 2], [3, true, this, 4]].forEach((row) => row.join());
  `);
  expect(Object.keys(found).filter((text) => text.startsWith("w.lookInside()"))).toEqual([
    "w.lookInside().one",
  ]);
  expect(() => variablesOf(window, ["f(1, null, true, this, 2);"])).not.toThrow();
  expect(variablesOf(window, ["f(1, null, true, this, 2);"])).toEqual([]);
});

test("keys that a page asks for may begin it, in its elements and in its canvas", async () => {
  expect(keysNamed('Press N to start, or hit "ENTER"; press any key, press the space bar, Push 3')).toEqual([
    "KeyN",
    "Enter",
    "Space",
  ]);
  const window = await open("<p>Press <b>q</b> to begin</p>");
  const codes = startActionsOf(window, { size: [100, 100] }, ["Press N"]).flatMap((one) =>
    one.kind === "key" && one.ticks === 10 ? [one.code] : [],
  );
  expect(codes).toEqual(["KeyQ", "KeyN", "Space", "Enter", "Digit1"]);
});

test("lists, sets and groups are read by their elements' numbers, boards by their cells", async () => {
  const [window, found] = await kept(`
    var stones = [{ x: 1, y: 2, color: "red", at: { x: 3 } }, { x: 4, y: 5, at: { x: 6 } }];
    var shots = new Set([{ y: 8 }]);
    var group = { getChildren: () => [{ x: 9 }] };
    var board = [[0, 1], , [{ value: 4 }, null]];
    var court = [["black", "black", "2"], ["black", "red", "black"]];
    var row = [1, 2, 3];
  `);
  expect(found).toMatchObject({
    "w.stones": [2, 1, 2, 3, 4, 5, 6],
    "w.shots?.values()": [1, 8],
    "w.group?.getChildren()": [1, 9],
    "w.board": [3, 2, 0, 1, 0, 0, 4, 0],
    // The most frequent word is that of empty cells.
    "w.court": [2, 3, 0, 0, 2, 0, 1, 0],
    "w.row": [3, 1, 1, 2, 3],
  });
  const stones = findPlaces(window, [{ text: "w.stones", name: "stones", read: (w) => w.stones }])[0];
  window.stones.pop();
  window.stones.push(null);
  expect(stones.read(window)).toEqual([1, 1, 2, 3]);
  window.stones = undefined;
  expect(stones.read(window)).toBe(undefined);
});

test("what a game is drawn and heard by is left out, and what throws is no place", async () => {
  const [, found] = await kept(`
    var canvas = { width: 5 };
    var audio = { volume: 1 };
    var odd = { get x() { throw new Error("not yet"); }, y: 1 };
    var here = document.body;
    var loop = {}; loop.self = loop; loop.n = 2;
  `);
  expect(Object.keys(found).sort()).toEqual(["w.loop?.n", "w.odd?.y"]);
});

test("a number beside which an opponent is named is no score of the player", async () => {
  const window = await open(`<body><p>You: <b id="a">0</b> Computer: <b id="b">0</b></p>
    <h2>Dealer</h2><p class="c">0</p><h2>Player</h2><p class="d">0</p></body>`);
  const names = shownIn(window).map(({ name }) => name);
  expect(names).toEqual(["a", "opponent's b", "opponent's c", "d"]);
});

test("an element that holds others is read by a text of its own, and not as what they say together", async () => {
  const window = await open(`<body><p id="total">Total <b></b></p><div class="coins">
    <img alt=""> 12</div><div id="box">
    <i class="x">1</i><i class="y">2</i></div></body>`);
  expect(shownIn(window).map(({ name }) => name)).toEqual(["coins", "x", "y"]);
  window.document.querySelector("#total > b").textContent = "7";
  expect(shownIn(window).map(({ name }) => name)).toContain("total");
});

test("numbers that elements show, ends that they tell of, and boards of elements", async () => {
  const window = await open(`<body>
    <p id="score">Score: <b>1,250</b></p> <p class="lives">3</p>
    <div id="game-over" style="display: none">Over</div>
    <div class="cell on" style="width:20px;height:20px">1</div><div class="cell" style="width:20px;height:20px"></div>
  </body>`);
  expect(readingsOf(window, shownIn(window))).toMatchObject({
    'numberIn(w.document.querySelector("#score > b"))': 1250,
    'numberIn(w.document.querySelector(".lives"))': 3,
  });
  const score = shownIn(window).find(({ name }) => name === "#score > b");
  window.document.querySelector("#score > b").textContent = "You have lost";
  expect(score?.read(window)).toBe(undefined);
  const end = shownIn(window).find(({ name }) => name === "game-over");
  expect(end?.read(window)).toBe(false);
  window.document.getElementById("game-over").style.display = "block";
  expect(end?.read(window)).toBe(true);
  expect(groupsOf(window)).toEqual([{ selector: ".cell", count: 2 }]);
  expect(Object.values(readingsOf(window, shownInGroups(window)))).toEqual([
    [2, 1, 2, 1],
    [2, 1, 1, 0],
  ]);
});

test("a page's own words are found: text, answers, environments", async () => {
  const window = await open(`<script>
    window.render_game_to_text = () => '{"ship":{"x":4}}';
    window.getScore = () => 12;
    window.getNothing = () => 1;
    window.env = { actions: ["a", "b", "c"], reset() {}, step: (a) => ({ obs: [1, { x: 2 }], reward: 0, done: false }) };
  </script>`);
  const globals = globalsOf(window, pristineNames());
  const text = textState(window);
  expect(readingsOf(window, findPlaces(window, text === null ? [] : [text]))).toEqual({
    "state(w)?.ship?.x": 4,
  });
  expect(answersOf(window, globals).map((root) => root.text)).toEqual(["w.getScore()"]);
  expect(environmentOf(window, globals)).toEqual({
    text: "w.env",
    numActions: 3,
    observation: "obs",
    reward: "reward",
    end: "done",
    length: 2,
  });
});

test("engines are reached by their global: scenes, what is in them, and how one begins", async () => {
  const window = await open(`<script>
    window.k = {
      get: (tag) => (tag === "*" ? [{ tags: ["*", "bird"] }] : [{ pos: { x: 1, y: 2 } }]),
      go() {}, getSceneName: () => "play", randSeed() {},
    };
  </script>`);
  const hooks = engineHooks(window, globalsOf(window, pristineNames()));
  expect(readingsOf(window, findPlaces(window, hooks?.roots ?? []))).toMatchObject({
    "w.k.getSceneName()": "play",
    'w.k.get("bird")': [1, 1, 2],
  });
  expect(hooks?.begin("play")).toBe('w.k.go("play")');
  expect(hooks?.seed).toBe("w.k.randSeed(seed)");
  const other = await open(`<script>
    const scene = { scene: { key: "level" }, hero: { x: 3 }, cameras: { x: 1 } };
    window.game = { loop: {}, scene: { getScenes: () => [scene], getScene: () => scene } };
  </script>`);
  const phaser = engineHooks(other, globalsOf(other, pristineNames()));
  expect(readingsOf(other, findPlaces(other, phaser?.roots ?? []))).toEqual({
    "w.game.scene.getScenes(true)[0]?.scene.key": "level",
    'w.game.scene.getScene("level")?.hero?.x': 3,
  });
  expect(engineOf(window, ["/*! Phaser v3.80.1 */"])).toBe("Phaser");
  expect(engineOf(window, ["nothing"])).toBe(null);
});

test("a game of Phaser's that a variable or an object holds is not looked into: its scenes are reached otherwise", async () => {
  const [, found] = await kept(`
    const game = { isBooted: true, loop: { delta: 16 }, scene: { x: 1 }, textures: {}, input: { mousePointer: { x: 3 } } };
    var app = { game, score: 2 };
  `);
  expect(found).toEqual({ "w.app?.score": 2 });
});

test("an engine is named by its globals, also by those that are no property of the window, before the library it draws by", async () => {
  const named = async (script: string): Promise<string | null> =>
    engineOf(await open(`<script>${script}</script>`), []);
  expect(await named("const Engine = { load() {}, unload() {}, isWebGLAvailable() {} };")).toBe("Godot");
  expect(await named("const Engine = { load() {} };")).toBe(null);
  expect(await named("var pc = { version: '2.23.3', Application: class {} };")).toBe("PlayCanvas 2.23.3");
  expect(await named("var PIXI = { VERSION: '7' }, gdjs = { RuntimeGame: class {} };")).toBe("GDevelop");
  expect(await named("var PIXI = { VERSION: '7' }, Utils = { RPGMAKER_NAME: 'MZ' };")).toBe("RPG Maker MZ");
  expect(await named("var c3_runtimeInterface = {};")).toBe("Construct 3");
  expect(await named("var cc = { ENGINE_VERSION: '2.3.3' };")).toBe("Cocos 2.3.3");
});

test("an engine's version is one short line, whatever the page calls so", () => {
  const engine = (version: unknown): string | null =>
    engineOf({ Phaser: { VERSION: version } } as unknown as PageWindow, []);
  expect(engine("3.90.0")).toBe("Phaser 3.90.0");
  expect(engine("*/\n1")).toBe("Phaser */ 1");
  expect(engine("9".repeat(500))).toHaveLength(47);
  expect(engine(Object.create(null))).toBe("Phaser [no text]");
});

test("drawings and forms among the elements: their class is no text, their id may be a field", async () => {
  const window = await open(`
    <svg class="play-btn" width="40" height="40"><circle class="game-over" r="9" cx="9" cy="9"></circle></svg>
    <form class="start-box"><input name="id" value="7"><button>Start</button></form>`);
  const elements = startActionsOf(window, { size: [800, 600] }).filter(({ kind }) => kind === "element");
  expect(elements.map((startAction) => "selector" in startAction && startAction.selector)).toContain(
    ".play-btn",
  );
  expect(elements.map((startAction) => "text" in startAction && startAction.text)).toContain("Start");
  expect(shownIn(window).map(({ name }) => name)).toContain("game-over");
});

test("the entities of melonJS and its end are reached by what it calls itself", async () => {
  const window = await open(`<script>
    window.me = {
      state: { PLAY: 1, GAME_OVER: 2, current: 2, isCurrent(one) { return this.current === one; }, change(one) { this.current = one; } },
      game: { world: { children: [{ body: { vel: { x: 0, y: 3 } }, pos: { x: 60, y: 120 } }, { pos: { x: 1, y: 1 } }] } },
    };
  </script>`);
  const hooks = engineHooks(window, globalsOf(window, pristineNames()));
  const found = readingsOf(window, findPlaces(window, hooks?.roots ?? []));
  expect(found).toMatchObject({ "w.me.state.isCurrent(w.me.state.GAME_OVER)": true });
  expect(Object.keys(found)).toContain("w.me.game.world.children.filter((one) => one.body)");
  window.eval(`(w) => ${hooks?.begin("")}`)(window);
  expect(window.me.state.current).toBe(1);
});

test("what a sprite is by its engine's classes is found, up to the first of the browser's own", async () => {
  const [, found] = await kept(`
    class Emitter { get listened() { return 1; } }
    class Container extends Emitter { get x() { return 7; } }
    class View extends Container { get alpha() { return 0.5; } }
    class Sprite extends View { get tint() { return 3; } }
    class Hero extends Sprite { vx = 2; }
    var hero = new Hero();
    var blobs = [new Hero()];
  `);
  expect(found).toMatchObject({ "w.hero?.x": 7, "w.hero?.alpha": 0.5, "w.hero?.vx": 2 });
  // How many there are, then their numbers, the place first.
  expect((found["w.blobs"] as number[]).slice(0, 2)).toEqual([1, 7]);
});

test("what p5 documents and keeps for itself is not the game's, also on an instance of its own", async () => {
  const [, found] = await kept(`
    function p5() { this._downKeys = { a: 1 }; this.movedX = 1; }
    p5.prototype.pmouseX = 2;
    p5.instance = new p5();
    var pmouseX = 2, movedX = 1, _downKeys = p5.instance._downKeys, score = 5;
    var sketch = Object.assign(new p5(), { lives: 3 });
  `);
  expect(found).toEqual({ "w.score": 5, "w.sketch?.lives": 3 });
});
