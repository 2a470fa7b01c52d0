/** Episodes of a check's random play that can be played again: the first one, and those in which the game failed (rule C5). */

import type { RecordedEpisode } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import type { EndReason, Instance } from "attract/instance";
import type { Choice } from "attract/page/play";
import { episodeError } from "../game/failures.ts";
import type { ActionSampler } from "../policy/action-sampler.ts";
import { GameActions } from "../policy/game-actions.ts";
import { createSampler } from "../policy/sampler.ts";
import { recordedActions } from "../stage/hand-actions.ts";
import { EpisodeTape, fitting, recordedBytes, seatOf } from "./episode-tape.ts";

/** Room for the episodes of one answer. */
const MAX_BYTES = 1 << 20;

interface Play {
  instance: Instance;
  seed: number;
  tape: EpisodeTape;
}

/** Owned by one check. */
export class CheckedEpisodes {
  readonly #definition: GameDefinition;
  readonly #numAgents: number;
  readonly #sampler: ActionSampler;
  readonly #actions: GameActions;
  readonly #failed = new WeakMap<object, RecordedEpisode>();
  #first: RecordedEpisode | null = null;
  /** In which the first episode is under way. */
  #firstPlay: Play | null = null;
  #room = MAX_BYTES;

  constructor(definition: GameDefinition) {
    this.#definition = definition;
    this.#numAgents = definition.numAgents ?? 1;
    this.#sampler = createSampler(definition.action, this.#numAgents);
    this.#actions = new GameActions(this.#sampler, this.#numAgents);
  }

  /**
   * Records what a copy plays from its next start on.
   *
   * @param seed of its streams, 32 bits.
   */
  watch(instance: Instance, seed: number): void {
    const play = { instance, seed, tape: new EpisodeTape(this.#definition) };
    // The last play of a game in a page has fresh pages, as a replay has.
    if (this.#firstPlay === null || this.#definition.page !== undefined) {
      this.#firstPlay = play;
      this.#first = null;
    }
    const { start, stepAhead, step } = instance;
    instance.start = (episode, parameters) => {
      play.tape.begin(parameters);
      this.#try(play, () => start.call(instance, episode, parameters));
    };
    instance.stepAhead = (action) => stepAhead.call(instance, this.#replayable(action, instance));
    instance.step = (action) => {
      const given = this.#replayable(action, instance);
      play.tape.add(instance, this.#sampler.actions, 0);
      this.#try(play, () => step.call(instance, given));
      if (play === this.#firstPlay && this.#first === null && instance.episodeOver)
        this.#first = this.#recorded(play, instance.endReason);
    };
  }

  /** The first episode, up to where it was left; null where the game failed in it, or not all of it was recorded. */
  takeFirst(): RecordedEpisode | null {
    const play = this.#firstPlay;
    return this.#take(this.#first ?? (play === null ? null : this.#recorded(play, null)));
  }

  /** The episode in which this was thrown; null where it was thrown elsewhere, or not all was recorded. */
  takeFailed(thrown: unknown): RecordedEpisode | null {
    return typeof thrown === "object" && thrown !== null
      ? this.#take(this.#failed.get(thrown) ?? null)
      : null;
  }

  /** As a replay will give it to the game: in 32 bits of the unit box, and at rest for who does not take part. */
  #replayable(action: Choice, { active }: Instance): Action | readonly Action[] {
    const row = recordedActions(this.#definition.action, this.#numAgents, action, active);
    for (let agent = 0; agent < this.#numAgents; agent++) {
      if (active[agent] === 1) this.#sampler.give(row, agent, agent);
      else this.#sampler.rest(agent);
    }
    return this.#actions.of(0);
  }

  #try(play: Play, call: () => void): void {
    try {
      call();
    } catch (thrown) {
      if (play === this.#firstPlay && this.#first === null) this.#firstPlay = null;
      const recorded = this.#recorded(play, null, thrown);
      if (recorded !== null) this.#failed.set(thrown as object, recorded);
      throw thrown;
    }
  }

  #recorded(
    { instance, seed, tape }: Play,
    reason: EndReason | null,
    thrown?: unknown,
  ): RecordedEpisode | null {
    const error = thrown === undefined ? null : episodeError(thrown, instance);
    const seats = Array.from({ length: this.#numAgents }, () => seatOf("random"));
    const terms = { run_id: null, seed: { low: seed, high: 0 }, lesson_id: null, seats };
    return tape.recorded(instance, terms, reason, error);
  }

  #take(episode: RecordedEpisode | null): RecordedEpisode | null {
    const taken = fitting(episode, this.#room);
    if (taken !== null) this.#room -= recordedBytes(taken);
    return taken;
  }
}
