/** A number for all that a player is shown in one moment of a game: what the agents see, and what is drawn. */

import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { listeningContext } from "../../../check/src/draw-check.ts";
import { hashed, SeenHash } from "../../../worker/src/episode/seen-hash.ts";
import { PageGame } from "../../../worker/src/page/page-game.ts";
import type { PageEyes } from "./page-eyes.ts";

/** Size that a game is drawn at, in pixels. */
const WIDTH = 320;
const HEIGHT = 240;
/** Pictures of an episode that is over; real ones are 32-bit numbers. */
const OVER = { terminated: 2 ** 40, time_limit: 2 ** 40 + 1, game_truncated: 2 ** 40 + 2, cut: 2 ** 40 + 3 };

/** Owned by one copy of a game. */
export class Picture {
  readonly #seen: SeenHash;
  readonly #eyes: PageEyes | null;
  readonly #isDrawn: boolean;

  /**
   * @param eyes what follows the drawing of a game that lives in a page; null: of others.
   * @param isDrawn whether what is drawn counts, and not only what the agents see.
   */
  constructor(definition: GameDefinition, eyes: PageEyes | null, isDrawn: boolean) {
    this.#seen = new SeenHash(definition);
    this.#eyes = eyes;
    this.#isDrawn = isDrawn;
  }

  /** Equal for moments that look the same; those of an episode that is over are equal where it ended in the same way. */
  of(instance: Instance): number {
    if (instance.episodeOver) return OVER[instance.endReason ?? "cut"];
    const seen = this.#seen.of(instance);
    return this.#isDrawn ? hashed(seen, this.#drawn(instance)) : seen;
  }

  #drawn({ game }: Instance): string {
    if (game instanceof PageGame) return game.window === null ? "" : (this.#eyes?.look(game.window) ?? "");
    if (game.draw === undefined) return "";
    const heard = { marks: 0, bad: "", calls: [] as string[] };
    try {
      game.draw(listeningContext(heard), WIDTH, HEIGHT);
    } catch {
      // What fails to be drawn is the affair of `attract check`; so far it was drawn.
      heard.calls.push("failed");
    }
    return heard.calls.join(";");
  }
}
