/** Finds an expression that is true once the game has started, and was false before. */

import { spot } from "../../sdk/src/page/spot.ts";
import type { End } from "./ends.ts";
import type { EngineHooks } from "./engines.ts";
import { attempt } from "./places.ts";
import { pressesOf, type StartAction, start } from "./start-actions.ts";
import { type PageToProbe, Trial } from "./trial.ts";

/** Frames for which a button that stays is pressed. */
const PRESSED_TICKS = 10;

/**
 * An expression of `w` that is true once the game has started; null: none was found.
 *
 * @param startAction the action that starts the game.
 * @param end the game's end; null: unknown.
 * @param hasRestart whether a call restarts it.
 */
export async function begunText(
  page: PageToProbe,
  startAction: StartAction,
  end: End | null,
  hasRestart: boolean,
  hooks: EngineHooks | null,
): Promise<string | null> {
  if (startAction.kind === "none") {
    const isShown = end?.place.isShown && end.place.text !== "false";
    return hasRestart || !isShown ? null : `!(${end?.text})`;
  }
  const trial = await Trial.open(page);
  try {
    const { window } = trial;
    const scene = (): unknown => attempt(() => hooks?.roots[0].read(window));
    const [menu, before] = [scene(), end?.place.read(window)];
    await start(trial, startAction);
    const now = scene();
    // An engine has one scene for its menu and another for the game.
    if (typeof now === "string" && now !== menu) return `${hooks?.roots[0].text} === ${JSON.stringify(now)}`;
    const last = pressesOf(startAction).at(-1);
    const isDrawn = last?.kind === "spot";
    if (isDrawn && spot(window, last.name) !== undefined) return stayingText(last.name);
    if (end === null || isDrawn || end.place.text === "false") return null;
    const isKnown = before !== undefined;
    if (end.isOver(end.place.read(window)) || (isKnown && !end.isOver(before))) return null;
    return isKnown ? `!(${end.text})` : `${end.place.text} !== undefined && !(${end.text})`;
  } finally {
    trial.close();
  }
}

/** True once the button has been visible for `PRESSED_TICKS` frames. */
function stayingText(name: string): string {
  const shown = `(spot(w, ${JSON.stringify(name)}) ? 1 : 0)`;
  return `(w.waited = (w.waited ?? 0) + ${shown}) >= ${PRESSED_TICKS}`;
}
