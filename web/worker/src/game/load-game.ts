/** Runs a game's module and checks what it exports. */

import type { GameDefinition } from "attract/contract";
import { checkDefinition } from "attract/define-game";
import type { GameModule } from "./game-module.ts";

/** The module's default export. Raises ConfigurationError, or whatever running it threw. */
export async function loadGame({ reference, text, url }: GameModule): Promise<GameDefinition> {
  return definitionOf(await importText(text, url), reference.name);
}

/** What a module of this text exports; stacks name `url` as its file. Raises whatever running it threw. */
export async function importText(text: string, url: string): Promise<Record<string, unknown>> {
  // The module's own address, by which the server finds the lines of its author's files.
  const code = new Blob([text, `\n//# sourceURL=${url}\n`], { type: "text/javascript" });
  const address = URL.createObjectURL(code);
  try {
    return await import(/* @vite-ignore */ address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The default export of the game `name`. Raises ConfigurationError when it is no game. */
export function definitionOf(module: { default?: unknown }, name: string): GameDefinition {
  const definition = module.default;
  try {
    checkDefinition(definition);
  } catch (error) {
    // What is wrong with a default export was found here, not in the file: nothing else names it.
    if (error instanceof Error) error.message = `${fileName(name)}: ${error.message}`;
    throw error;
  }
  return definition;
}

/** The file and its folder, as in stacks. */
function fileName(name: string): string {
  return name.split("/").slice(-2).join("/");
}
