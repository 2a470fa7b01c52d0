/** A game's module as text: fetched by the page's own code, which may, and handed to the sandbox, which may not. */

import type { GameReference } from "@attract/schema";

export interface GameModule {
  reference: GameReference;
  text: string;
  /** Where it came from: what stacks name as its file. */
  url: string;
}

/** The module at `reference`. Raises Error when the server does not give it. */
export async function fetchModule(base: string, reference: GameReference): Promise<GameModule> {
  const url = new URL(reference.url, base).href;
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the game's module could not be fetched: ${answer.status} at ${url}`);
  return { reference, text: await answer.text(), url };
}
