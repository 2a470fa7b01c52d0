/** Loads a game's module into the page, for drawing it. */

import type { GameReference } from "@attract/schema";
import type { GameDefinition } from "attract";
import { checkDefinition } from "attract/define-game";
import { serverUrl } from "../api/client.ts";

const loading = new Map<string, Promise<GameDefinition>>();

/** The definition at `reference`; each module is loaded once. Raises what the module throws, or ConfigurationError. */
export function loadGame(reference: GameReference): Promise<GameDefinition> {
  const known = loading.get(reference.sha256);
  if (known !== undefined) return known;
  const definition = importGame(reference);
  loading.set(reference.sha256, definition);
  definition.catch(() => loading.delete(reference.sha256));
  return definition;
}

async function importGame(reference: GameReference): Promise<GameDefinition> {
  const module = (await import(/* @vite-ignore */ serverUrl(reference.url).href)) as { default?: unknown };
  checkDefinition(module.default);
  return module.default;
}
