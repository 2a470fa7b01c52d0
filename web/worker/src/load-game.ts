/** Fetches a game's module and checks what it exports. */

import type { GameReference } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { checkDefinition } from "attract/define-game";

/** The module's default export. Raises ConfigurationError, or whatever loading it threw. */
export async function loadGame(base: string, game: GameReference): Promise<GameDefinition> {
  const url = new URL(game.url, base).href;
  const module: { default?: unknown } = await import(/* @vite-ignore */ url);
  const definition = module.default;
  checkDefinition(definition);
  return definition;
}
