/** What plays a game in a playtest, and the chance that it plays by. */

import type { EpisodeSeat, RecordedEpisode, Seed } from "@attract/schema";
import type { Instance } from "attract/instance";
import { createSequentialRandom, type GameRandom, STREAM } from "attract/random";
import type { PlayerActions } from "./player-actions.ts";

/** Owned by one playtest. What it does in an episode depends on nothing but that episode's seed, index and observations. */
export interface Player {
  /** Who controls each agent, as a recorded episode names it. */
  readonly seat: EpisodeSeat;
  /** The episode that it plays again, with its seed, stream and parameters; null: those of the order. */
  readonly recorded: RecordedEpisode | null;
  /** Episode `index` begins. */
  begin(index: number): void;
  /** Takes its time before `act`; the game stands still meanwhile. */
  think?(instance: Instance, actions: PlayerActions): Promise<void>;
  /** Writes what the active agents do in `step`; false: it stops here. */
  act(instance: Instance, step: number, actions: PlayerActions): boolean;
}

export const SCRIPT: EpisodeSeat = {
  player: "script",
  policy_id: null,
  policy_version: null,
  deterministic: false,
};

/** A player's own chance: a stream of (seed, player, index of the episode). */
export class PlayerChance {
  readonly random: GameRandom;
  readonly #stream = createSequentialRandom(STREAM.action);
  readonly #seedLow: number;
  readonly #seedHigh: number;

  constructor({ low, high }: Seed, player: string) {
    this.random = this.#stream.random;
    this.#seedLow = (low ^ hashOf(player)) >>> 0;
    this.#seedHigh = high;
  }

  begin(index: number): void {
    this.#stream.reset(this.#seedLow, this.#seedHigh, 0, index);
  }
}

/** FNV-1a, 32 bits, of the text's UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
