/** What a page says of itself without being asked to: hooks of agents and tests, and the engine it is made with. */

import type { PageWindow } from "attract/page-adapter";
import { numbersIn } from "../../sdk/src/page/readers.ts";
import { wordsOf } from "./json-value.ts";
import { attempt, type Root } from "./places.ts";

/** `render_game_to_text()`: the state as JSON. */
export const TEXT_STATE = "state(w)";
/** What the game reported to a portal. */
export const PORTAL = "portal(w)";
const LONGEST_VERSION = 40;
/** What a game publishes for its tests: numbers that it keeps up to date. */
const DIAGNOSTICS = "__GAME_DIAGNOSTICS__";
/** What a test may call. */
const TEST_HOOKS = "__GAME_TEST_HOOKS__";
const ANSWERING = [TEST_HOOKS, "gameAPI", "GameAPI", "gameApi"];
const ANSWER =
  /^(?:get|read)?_?(?:game_?)?(?:state|score|status|snapshot|observation|diagnostics|lives|player|info)$/i;

/** An environment as Gymnasium has them: `reset()` and `step(action)`. */
export interface Environment {
  readonly text: string;
  readonly numActions: number;
  /** What `step` calls its observation, reward and end. */
  readonly observation: string;
  readonly reward: string;
  readonly end: string;
  readonly length: number;
}

/** The state that `render_game_to_text()` gives; null of a page without one, or whose text is no JSON. */
export function textState(window: PageWindow): Root | null {
  if (typeof window.render_game_to_text !== "function") return null;
  const known = new WeakMap<object, { now: number; value: unknown }>();
  const read = (page: PageWindow): unknown => {
    const now = page.performance.now() as number;
    const last = known.get(page);
    if (last?.now === now) return last.value;
    const value: unknown = JSON.parse(page.render_game_to_text());
    known.set(page, { now, value });
    return value;
  };
  const value = attempt(() => read(window));
  return typeof value === "object" && value !== null ? { text: TEXT_STATE, name: "state", read } : null;
}

/** What a game publishes for its tests and its callers: its diagnostics, and functions that give its state. */
export function hookRoots(window: PageWindow): Root[] {
  const roots: Root[] = [];
  if (isObject(attempt(() => window[DIAGNOSTICS])))
    roots.push({ text: `w.${DIAGNOSTICS}`, name: "diagnostics", read: (page) => page[DIAGNOSTICS] });
  for (const name of ANSWERING) {
    const hooks = attempt(() => window[name]);
    if (!isObject(hooks)) continue;
    for (const [key, call] of Object.entries(hooks)) {
      if (!ANSWER.test(key) || typeof call !== "function" || call.length > 0) continue;
      const value = attempt(() => hooks[key]());
      if (typeof value === "number" || (isObject(value) && typeof value.then !== "function"))
        roots.push({ text: `w.${name}.${key}()`, name: key, read: (page) => page[name][key]() });
    }
  }
  return roots;
}

/** The call by which a test seeds the game; null: there is none. */
export function seedHook(window: PageWindow): string | null {
  return typeof attempt(() => window[TEST_HOOKS]?.seed) === "function" ? `w.${TEST_HOOKS}.seed(seed)` : null;
}

// biome-ignore lint/suspicious/noExplicitAny: what a page publishes is its own affair
function isObject(value: any): boolean {
  return typeof value === "object" && value !== null;
}

/** What the game tells its portal; null of a page that asked for no portal's SDK. */
export function portalRoot(window: PageWindow): Root | null {
  if (window.attractPortal?.name == null) return null;
  return { text: PORTAL, name: "portal", read: (page) => page.attractPortal };
}

/** An environment among the globals; null where there is none. */
export function environmentOf(window: PageWindow, globals: readonly Root[]): Environment | null {
  for (const { name, text } of globals) {
    const env = window[name];
    if (typeof env?.reset !== "function" || typeof env?.step !== "function") continue;
    const found = attempt(() => {
      env.reset();
      const result = env.step(0);
      const nameOf = (...names: string[]): string | undefined =>
        names.find((one) => result?.[one] !== undefined);
      const observation = nameOf("observation", "obs", "state");
      const reward = nameOf("reward");
      const end = nameOf("terminated", "done", "isDone", "over");
      if (observation === undefined || reward === undefined || end === undefined) return null;
      const numActions =
        env.actionSpace?.n ??
        env.action_space?.n ??
        env.numActions ??
        env.num_actions ??
        env.actions?.length ??
        2;
      const { length } = numbersIn(result[observation]);
      return { text, numActions: Number(numActions), observation, reward, end, length };
    });
    if (found) return found;
  }
  return null;
}

/** The engine that drew the page; null: no known engine. */
export function engineOf(window: PageWindow, scripts: readonly string[]): string | null {
  // A `const` of a classic script is no property of the window.
  const made = (name: string): PageWindow =>
    window[name] ?? attempt(() => window.eval(`typeof ${name} === "undefined" ? null : ${name}`));
  const named: readonly [string, () => unknown][] = [
    ["RPG Maker", () => window.Utils?.RPGMAKER_NAME],
    ["GDevelop", () => window.gdjs?.RuntimeGame && "?"],
    ["Construct", () => ((window.c3_runtimeInterface ?? window.C3) ? "3" : window.cr_createRuntime && "2")],
    ["Cocos", () => window.cc?.ENGINE_VERSION],
    ["Unity", () => (window.createUnityInstance ?? window.UnityLoader) && "?"],
    ["Godot", () => made("Engine")?.unload && made("Engine").isWebGLAvailable && "?"],
    ["Defold", () => window.EngineLoader && window.GameArchiveLoader && "?"],
    ["Phaser", () => window.Phaser?.VERSION],
    ["PixiJS", () => window.PIXI?.VERSION],
    ["Three.js", () => window.THREE?.REVISION ?? window.__THREE__],
    ["Babylon.js", () => window.BABYLON?.Engine?.Version],
    ["PlayCanvas", () => window.pc?.Application && window.pc.version],
    ["melonJS", () => window.me?.version],
    ["p5.js", () => window.p5?.VERSION ?? (window.p5 && "?")],
    ["CreateJS", () => window.createjs && "?"],
    ["matter-js", () => window.Matter?.version],
  ];
  for (const [name, version] of named) {
    const found = attempt(version);
    if (found) return found === "?" ? name : `${name} ${wordsOf(found, LONGEST_VERSION)}`;
  }
  const marks: readonly [string, RegExp][] = [
    ["Phaser", /Phaser\s*v?(\d+\.\d+\.\d+)|phaser\.io/],
    ["KAPLAY", /KAPLAY|kaplay/],
    ["PixiJS", /PixiJS|pixi\.js/i],
    ["Three.js", /THREE\.WebGLRenderer|three\.js/i],
    ["Kontra", /kontra/i],
    ["melonJS", /melonJS/],
  ];
  return marks.find(([, mark]) => scripts.some((text) => mark.test(text)))?.[0] ?? null;
}

/** Those whose games are WebAssembly: no adapter can read their state. */
const COMPILED = /^(?:Unity|Godot|Defold)\b/;

/** How an agent sees a game of this engine, where its state is closed; null: by its state. */
export function compiledNote(engine: string | null): string | null {
  if (engine === null || !COMPILED.test(engine)) return null;
  return `${engine} keeps its state in WebAssembly, where nothing can be read: an agent sees the picture, by pixels: { webGl: true }`;
}
