/** What a person plays, as seed and actions: enough to play it again in the same game (rule C5). */

import type { DemonstratedEpisode, GameDescription } from "@attract/schema";
import type { Action } from "attract/contract";
import type { Instance } from "attract/instance";
import type { Choice } from "attract/page/play";
import { boxLimit, boxSize } from "attract/spaces";

/** Recording of the newest episode, without the game's name and module, which the page knows. */
export type PlayedEpisode = Omit<DemonstratedEpisode, "game_id" | "game_sha256">;

/** Longer episodes are kept as far as this, as if the player had stopped: `LONGEST_STEPS` of the server. */
export const LONGEST_STEPS = 65_536;
/** Numbers of all agents' actions together: written out they stay under the server's limit of 4 MiB. */
export const MAX_NUMBERS = 131_072;

/** Owned by a stage that is played by hand. */
export class EpisodeRecording {
  readonly #description: GameDescription;
  readonly #seed: number;
  #episode = -1;
  #parameters: Readonly<Record<string, number>> = {};
  #actions: DemonstratedEpisode["actions"] = [];
  #numbers = 0;
  /** What had been earned when the episode became too long; null: it has not. */
  #returnsThen: number[] | null = null;

  /** @param seed 32 bits, of the stage's random streams. */
  constructor(description: GameDescription, seed: number) {
    this.#description = description;
    this.#seed = seed;
  }

  /** Episode `episode` will be played with these parameters; `undefined`: the game's own. */
  begin(episode: number, parameters: Readonly<Record<string, number>> | undefined): void {
    this.#episode = episode;
    this.#parameters = { ...parameters };
    this.#actions = [];
    this.#numbers = 0;
    this.#returnsThen = null;
  }

  /** The next step is played with `choice`. */
  add(choice: Choice, instance: Instance): void {
    if (this.#returnsThen !== null) return;
    if (this.#actions.length >= LONGEST_STEPS || this.#numbers >= MAX_NUMBERS) {
      this.#returnsThen = [...instance.episodeReturns];
      return;
    }
    const { num_agents: numAgents } = this.#description;
    const actions = numAgents === 1 ? [choice as Action] : Array.from(choice as ArrayLike<Action>);
    const step = actions.map((action, agent) => (instance.active[agent] === 1 ? this.#onWire(action) : null));
    for (const one of step) this.#numbers += Array.isArray(one) ? one.length : 1;
    this.#actions.push(step);
  }

  /** The episode so far; null: nothing was done in it. */
  take(instance: Instance): PlayedEpisode | null {
    if (this.#actions.length === 0) return null;
    return {
      seed: { low: this.#seed, high: 0 },
      episode: this.#episode,
      parameters: this.#parameters,
      actions: this.#actions,
      returns: this.#returnsThen ?? [...instance.episodeReturns],
      ended: this.#returnsThen === null && instance.episodeOver,
    };
  }

  #onWire(action: Action): number | number[] {
    const space = this.#description.action;
    if (typeof action === "number" && space.kind !== "box") return action;
    const values = typeof action === "number" ? [action] : Array.from(action);
    return space.kind === "box" ? values.map((value, c) => toUnit(space, value, c)) : values;
  }
}

type Box = Extract<GameDescription["action"], { kind: "box" }>;

/** A continuous action as a policy's would reach the game: through the unit space of its box, in 32 bits (rule P6). */
export function throughUnitBox(space: Box, action: Action): Float32Array {
  const values = typeof action === "number" ? [action] : Array.from(action);
  return Float32Array.from({ length: boxSize(space) }, (_, c) => {
    const low = boxLimit(space.low, c, -1);
    return low + ((toUnit(space, values[c], c) + 1) / 2) * (boxLimit(space.high, c, 1) - low);
  });
}

/** In [-1, 1], as 32 bits have it. */
function toUnit(space: Box, value: number, c: number): number {
  const low = boxLimit(space.low, c, -1);
  const range = boxLimit(space.high, c, 1) - low;
  return Math.fround(Math.max(-1, Math.min(1, (2 * (value - low)) / range - 1)));
}
