/** A player that does again what was done in a recorded episode. */

import type { EpisodeSeat, RecordedEpisode } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { EpisodeScript } from "../../worker/src/episode/episode-script.ts";
import { type ActionNumbers, unpackActions } from "../../worker/src/episode/packed-actions.ts";
import { type Player, SCRIPT } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";

export class RecordedPlayer implements Player {
  readonly seat: EpisodeSeat = SCRIPT;
  readonly recorded: RecordedEpisode;
  readonly #numbers: ActionNumbers;

  private constructor(episode: RecordedEpisode, numbers: ActionNumbers) {
    this.recorded = episode;
    this.#numbers = numbers;
  }

  /** Rejects with EpisodeMismatch where the episode is not of this game, or is damaged. */
  static async of(definition: GameDefinition, episode: RecordedEpisode): Promise<RecordedPlayer> {
    await EpisodeScript.of(definition, episode);
    return new RecordedPlayer(episode, await unpackActions(episode.actions));
  }

  begin(): void {}

  act({ active }: Instance, step: number, actions: PlayerActions): boolean {
    if (step >= this.recorded.num_steps) return false;
    for (let agent = 0; agent < actions.numAgents; agent++) {
      if (active[agent] === 1) actions.give(this.#numbers, step * actions.numAgents + agent, agent);
      else actions.rest(agent);
    }
    return true;
  }
}
