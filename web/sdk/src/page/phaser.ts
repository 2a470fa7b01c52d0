/** What Phaser 3 shows, by its objects: interactive objects and texts. What it draws by WebGL is not recorded. */

import type { PageWindow } from "../page-adapter.ts";
import { made } from "./made.ts";

export const PHASER = "Phaser.Game";

/** Something that is called so, and its middle in pixels of the page's window. */
export interface Spot {
  readonly name: string;
  readonly place: readonly [x: number, y: number];
}

/** Interactive objects of the active scenes, named by their text, or by their name or picture. */
export function phaserSpots(window: PageWindow): Spot[] {
  return spotsOf(
    gameOf(window),
    ({ input }) => Boolean(input?.enabled),
    (object, scene) =>
      object.text || textOver(scene, object) || object.name || object.texture?.key || object.type,
  );
}

/** Texts that are to be seen while Phaser draws by WebGL; on a 2D canvas they are drawn as all else is. */
export function phaserTexts(window: PageWindow): Spot[] {
  const game = gameOf(window);
  return game?.renderer?.gl ? spotsOf(game, isText, ({ text }) => text) : [];
}

/** The game that Phaser made here last. */
export function gameOf(window: PageWindow): PageWindow | undefined {
  return made(window, PHASER).at(-1);
}

function isText({ text, alpha }: PageWindow): boolean {
  return typeof text === "string" && text.trim() !== "" && alpha !== 0;
}

function spotsOf(
  game: PageWindow | undefined,
  is: (object: PageWindow) => boolean,
  nameOf: (object: PageWindow, scene: PageWindow) => unknown,
): Spot[] {
  if (typeof game?.scene?.getScenes !== "function" || !game.canvas) return [];
  const frame = game.canvas.getBoundingClientRect();
  const [across, down] = [frame.width / game.scale.width, frame.height / game.scale.height];
  const spots: Spot[] = [];
  for (const scene of game.scene.getScenes(true) as PageWindow[])
    for (const object of within(scene.children?.list)) {
      if (!object.visible || !object.active || typeof object.getBounds !== "function" || !is(object))
        continue;
      const { scrollX, scrollY, zoom, x: left, y: top } = scene.cameras.main;
      const { centerX, centerY } = object.getBounds() as { centerX: number; centerY: number };
      const x = (centerX - scrollX * object.scrollFactorX) * zoom + left;
      const y = (centerY - scrollY * object.scrollFactorY) * zoom + top;
      const name = String(nameOf(object, scene)).trim();
      spots.push({ name, place: [frame.left + x * across, frame.top + y * down] });
    }
  return spots;
}

/** Objects of a scene, those within containers too. */
function within(list: unknown): PageWindow[] {
  if (!Array.isArray(list)) return [];
  return (list as PageWindow[]).flatMap((object) => [object, ...within(object.list)]);
}

/** What is written on a button that has no text of its own: by a text that stands over it. */
function textOver(scene: PageWindow, button: PageWindow): string | undefined {
  const box = button.getBounds();
  const over = within(scene.children?.list).find((object) => {
    if (!object.visible || !isText(object) || typeof object.getBounds !== "function") return false;
    const { centerX, centerY } = object.getBounds();
    return box.contains(centerX, centerY);
  });
  return over?.text;
}
