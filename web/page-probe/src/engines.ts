/** What engines keep where, as far as a global leads to it: scenes, what is in them, and how one begins. */

import type { PageWindow } from "attract/page-adapter";
import { gameOf } from "../../sdk/src/page/phaser.ts";
import { attempt, type Root } from "./places.ts";
import { PHASER_SYSTEMS } from "./rules.ts";

/** The game that a page keeps to itself, as adapters reach it. */
export const MADE_GAME = "phaserGame(w)";

export interface EngineHooks {
  /** The global by which the engine is reached: nothing else of it is looked into. Null: the window. */
  readonly global: string | null;
  readonly roots: readonly Root[];
  /** A call that restarts the scene of this name. */
  begin(scene: string): string;
  /** Seeds the engine's own chance; null where it has none. */
  readonly seed: string | null;
}

/** What an engine's global offers; null: there is none. */
export function engineHooks(window: PageWindow, globals: readonly Root[]): EngineHooks | null {
  // KAPLAY may leave all it has to the window itself.
  const all = attempt(() => kaplay(window, null)) ?? attempt(() => melon(window));
  if (all) return all;
  for (const { name } of globals) {
    const found = attempt(
      () => kaplay(window, name) ?? phaser(window, name, `w.${name}`, (page) => page[name]),
    );
    if (found) return found;
  }
  // Kept in a module, or in a closure.
  return attempt(() => phaser(window, null, `${MADE_GAME}?`, gameOf)) ?? null;
}

/** @param name of the global that `kaplay()` gave; null: its functions are globals themselves. */
function kaplay(window: PageWindow, name: string | null): EngineHooks | null {
  const of = (page: PageWindow): PageWindow => (name === null ? page : page[name]);
  const k = of(window);
  for (const method of ["get", "go", "getSceneName", "randSeed"])
    if (typeof k?.[method] !== "function") return null;
  const written = name === null ? "w" : `w.${name}`;
  const tags = new Set<string>();
  for (const object of k.get("*") as { tags?: Iterable<string> }[])
    for (const tag of object.tags ?? []) if (tag !== "*") tags.add(tag);
  return {
    global: name,
    roots: [
      { text: `${written}.getSceneName()`, name: "scene", read: (page) => of(page).getSceneName() },
      // Also what has no tag of its own, such as the one that is played.
      {
        text: `${written}.get("*").filter((one) => one.vel && one.pos)`,
        name: "moving",
        read: (page) =>
          of(page)
            .get("*")
            .filter((one: PageWindow) => one.vel && one.pos),
      },
      ...[...tags].map((tag) => ({
        text: `${written}.get(${JSON.stringify(tag)})`,
        name: tag,
        read: (page: PageWindow) => of(page).get(tag),
      })),
    ],
    begin: (scene) => `${written}.go(${JSON.stringify(scene)})`,
    seed: `${written}.randSeed(seed)`,
  };
}

/** melonJS keeps all it has in `me`; the entities of its world are those with a body. */
function melon(window: PageWindow): EngineHooks | null {
  const { me } = window;
  if (typeof me?.state?.isCurrent !== "function" || !Array.isArray(me.game?.world?.children)) return null;
  return {
    global: "me",
    roots: [
      {
        text: "w.me.state.isCurrent(w.me.state.GAME_OVER)",
        name: "gameOver",
        read: ({ me: now }) => now.state.isCurrent(now.state.GAME_OVER),
      },
      {
        text: "w.me.game.world.children.filter((one) => one.body)",
        name: "entities",
        read: ({ me: now }) => now.game.world.children.filter((one: PageWindow) => one.body),
      },
    ],
    begin: () => "w.me.state.change(w.me.state.PLAY)",
    seed: null,
  };
}

/** @param written how an adapter reaches the game that `of` gives. */
function phaser(
  window: PageWindow,
  name: string | null,
  written: string,
  of: (page: PageWindow) => PageWindow | undefined,
): EngineHooks | null {
  const game = of(window);
  if (typeof game?.scene?.getScenes !== "function" || game.loop === undefined) return null;
  const keys = (game.scene.getScenes(false) as PageWindow[]).map((scene) => String(scene.scene.key));
  return {
    global: name,
    roots: [
      {
        text: `${written}.scene.getScenes(true)[0]?.scene.key`,
        name: "scene",
        read: (page) => of(page)?.scene.getScenes(true)[0]?.scene.key,
      },
      ...keys.map((key) => ({
        text: `${written}.scene.getScene(${JSON.stringify(key)})`,
        name: key,
        skipped: PHASER_SYSTEMS,
        read: (page: PageWindow) => of(page)?.scene.getScene(key),
      })),
    ],
    begin: (scene) =>
      `${written}.scene.getScenes(true).forEach((scene) => scene.scene.start(${JSON.stringify(scene)}))`,
    seed: null,
  };
}
