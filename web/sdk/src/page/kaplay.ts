/** What KAPLAY shows by its text objects. What it draws by WebGL is not recorded. */

import type { PageWindow } from "../page-adapter.ts";
import type { Spot } from "./phaser.ts";

/** Where pages keep what `kaplay()` gives them: on the window itself, or by the name that its guide uses. */
const NAMES = ["k"] as const;
const METHODS = ["get", "go", "getSceneName", "width", "height"] as const;

/** Texts that are to be seen; none where the page keeps its engine to itself. */
export function kaplayTexts(window: PageWindow): Spot[] {
  const engine = [window, ...NAMES.map((name) => window[name])].find(isEngine);
  if (engine === undefined) return [];
  const canvas = engine.canvas ?? window.document.querySelector("canvas");
  if (canvas === null) return [];
  const frame = canvas.getBoundingClientRect();
  const [across, down] = [frame.width / engine.width(), frame.height / engine.height()];
  return (engine.get("*", { recursive: true }) as PageWindow[]).filter(isShown).map((object) => {
    const at = object.screenPos?.() ?? object.pos;
    const [x, y] = fromAnchor(object);
    return {
      name: object.text.trim(),
      place: [frame.left + (at.x + x) * across, frame.top + (at.y + y) * down],
    };
  });
}

// biome-ignore lint/suspicious/noExplicitAny: what a page keeps by a name is its own affair
function isEngine(value: any): boolean {
  return METHODS.every((name) => typeof value?.[name] === "function");
}

function isShown({ text, hidden, opacity, pos }: PageWindow): boolean {
  return typeof text === "string" && text.trim() !== "" && !hidden && opacity !== 0 && pos !== undefined;
}

/** How far the middle is from the object's place. */
function fromAnchor({ anchor, width = 0, height = 0 }: PageWindow): [number, number] {
  const name = typeof anchor === "string" ? anchor : "topleft";
  const half = (low: string, high: string): number =>
    name.includes(high) ? -0.5 : name.includes(low) ? 0.5 : 0;
  return [width * half("left", "right"), height * half("top", "bot")];
}
