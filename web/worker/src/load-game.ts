/** Fetches a game's module and checks what it exports. */

import type { GameReference } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { checkDefinition } from "attract/define-game";

/** The module's default export. Raises ConfigurationError, or whatever loading it threw. */
export async function loadGame(base: string, game: GameReference): Promise<GameDefinition> {
  const url = new URL(game.url, base).href;
  const module: { default?: unknown } = await import(/* @vite-ignore */ url);
  const definition = module.default;
  try {
    checkDefinition(definition);
  } catch (error) {
    // What is wrong with a default export was found here, not in the file: nothing else names it.
    if (error instanceof Error) error.message = `${fileName(game.name)}: ${error.message}`;
    throw error;
  }
  return definition;
}

/** The file and its folder, as in stacks. */
function fileName(name: string): string {
  return name.split("/").slice(-2).join("/");
}
