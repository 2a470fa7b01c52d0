/** What plays a game in a playtest, and the chance that it plays by. */

import type { EpisodeSeat, RecordedEpisode, Seed } from "@attract/schema";
import type { Instance } from "attract/instance";
import { createSequentialRandom, type GameRandom, STREAM } from "attract/random";
import { seatOf } from "../../worker/src/episode/episode-tape.ts";
import { hashed } from "../../worker/src/episode/seen-hash.ts";
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

/** Decides for each agent that takes part, one after the other. */
export abstract class AgentPlayer implements Player {
  readonly seat: EpisodeSeat = seatOf("script");
  readonly recorded: RecordedEpisode | null = null;

  begin(_index: number): void {}

  act(instance: Instance, step: number, actions: PlayerActions): boolean {
    for (let agent = 0; agent < actions.numAgents; agent++) {
      if (instance.active[agent] === 1) this.decide(agent, actions, step, instance);
      else actions.rest(agent);
    }
    return true;
  }

  /** Writes what `agent` does in `step`. */
  protected abstract decide(agent: number, actions: PlayerActions, step: number, instance: Instance): void;
}

/** A player's own chance: a stream of (seed, player, index of the episode). */
export class PlayerChance {
  readonly random: GameRandom;
  readonly #stream = createSequentialRandom(STREAM.action);
  readonly #seedLow: number;
  readonly #seedHigh: number;

  constructor({ low, high }: Seed, player: string) {
    this.random = this.#stream.random;
    this.#seedLow = (low ^ hashed(0, player)) >>> 0;
    this.#seedHigh = high;
  }

  begin(index: number): void {
    this.#stream.reset(this.#seedLow, this.#seedHigh, 0, index);
  }
}

/** One that draws on chance. */
export abstract class ChancePlayer extends AgentPlayer {
  protected readonly chance: PlayerChance;

  /** @param name of the player: another has another chance. */
  constructor(seed: Seed, name: string) {
    super();
    this.chance = new PlayerChance(seed, name);
  }

  override begin(index: number): void {
    this.chance.begin(index);
  }
}
