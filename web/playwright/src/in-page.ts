/** The script in the document that holds the game's page, and in that page itself, where it is the virtual clock. */

import "../../page-clock/src/index.ts";
import * as page from "attract/page";
import { importText } from "../../worker/src/game/load-game.ts";
import { type CommandName, Commands } from "./commands.ts";
import { type PlainPageOptions, plainPage } from "./plain-page.ts";

export interface PageOrder extends PlainPageOptions {
  /** The page from the root of this origin; null: the adapter names it, below `base`. */
  page: string | null;
  /** The folder of the page from the root of this origin. */
  base: string;
  /** Text of the adapter's module; null: there is none. */
  adapter: string | null;
  draws: boolean;
}

let commands: Commands | null = null;

const attractGame = {
  /** Everything that adapters import. */
  page,
  /** Why it cannot be played; null: it can. */
  async begin(order: PageOrder): Promise<string | null> {
    try {
      commands = await commandsOf(order);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  },
  obey: (name: CommandName, order: unknown) => commands?.obey(name, order),
};

async function commandsOf({ page, base, adapter, draws, ...options }: PageOrder): Promise<Commands> {
  globalThis.attractDevice = adapter === null ? undefined : options.device;
  const game =
    adapter === null
      ? plainPage(options)
      : ((await importText(adapter, "adapter.js")).default as ReturnType<typeof plainPage>);
  if (game?.page === undefined)
    throw new Error("the adapter is none: it has no default export of definePageGame()");
  const address = page ?? (game.page.page.startsWith("http") ? game.page.page : base + game.page.page);
  const placed = { ...game, page: { ...game.page, page: address } };
  return new Commands(placed, { base: document.baseURI, draws }, adapter === null);
}

// A page that the clock has taken over is the game's: nothing more is put into it.
if (window.frameElement === null) Object.assign(globalThis, { attractGame });

export type AttractGame = typeof attractGame;
