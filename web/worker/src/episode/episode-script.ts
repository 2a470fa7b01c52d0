/** A recorded episode, ready to be played again: its actions by step, and where a play of it first differs. */

import type { EpisodeDifference, EpisodeError, RecordedEpisode } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { isScalarAction, leafLimits, numActionComponents, numChoices } from "attract/spaces";
import type { ActionSampler } from "../policy/action-sampler.ts";
import { GameActions } from "../policy/game-actions.ts";
import { createSampler } from "../policy/sampler.ts";
import { type ActionNumbers, actionNumbers, unpackActions } from "./packed-actions.ts";
import { SeenHash } from "./seen-hash.ts";

const HASH_DIGITS = 8;
/** Returns agree within this times max(1, |x|): a drawn game adds its rewards up tick by tick, a training one step by step. */
const RETURN_TOLERANCE = 1e-9;
/** The same of a record without marks: other engines differ in the last bits of a sine. */
const OLD_RETURN_TOLERANCE = 1e-4;

/** How a play stands at its end. */
export type Outcome = Pick<Instance, "episodeSteps" | "episodeOver" | "endReason" | "episodeReturns">;

/** The episode is not one of this game, or is damaged. */
export class EpisodeMismatch extends Error {
  override readonly name = "EpisodeMismatch";
}

/** Owned by one player, headless or drawn. */
export class EpisodeScript {
  readonly episode: RecordedEpisode;
  /** [steps * agents, components], as actions travel. */
  readonly numbers: ActionNumbers;
  readonly #sampler: ActionSampler;
  readonly #actions: GameActions;
  readonly #numAgents: number;
  readonly #hash: SeenHash;

  private constructor(definition: GameDefinition, episode: RecordedEpisode, numbers: ActionNumbers) {
    this.episode = episode;
    this.numbers = numbers;
    this.#numAgents = definition.numAgents ?? 1;
    this.#sampler = createSampler(definition.action, this.#numAgents);
    this.#actions = new GameActions(this.#sampler, this.#numAgents);
    this.#hash = new SeenHash(definition);
  }

  /** Unpacks `episode`. Rejects with EpisodeMismatch where it is not of this game, or is damaged. */
  static async of(definition: GameDefinition, episode: RecordedEpisode): Promise<EpisodeScript> {
    const { game_id: game, actions, seats, parameters, returns, num_steps: numSteps } = episode;
    const numAgents = definition.numAgents ?? 1;
    if (game !== definition.id)
      throw new EpisodeMismatch(`this is an episode of ${game}, and the game is ${definition.id}`);
    const known = definition.parameters ?? {};
    for (const [name, value] of Object.entries(parameters)) {
      const range = known[name];
      if (range === undefined || !(value >= range.low && value <= range.high))
        throw new EpisodeMismatch(`the game takes no parameter ${name} = ${value}`);
    }
    if (seats.length !== numAgents || returns.length !== numAgents)
      throw new EpisodeMismatch(`it has ${seats.length} agents, and the game has ${numAgents}`);
    const components = isScalarAction(definition.action) ? [] : [numActionComponents(definition.action)];
    const shape = [numSteps, numAgents, ...components];
    if (actions.shape.join() !== shape.join())
      throw new EpisodeMismatch(`its actions are [${actions.shape}], and the game's would be [${shape}]`);
    let numbers: ActionNumbers;
    try {
      numbers = await unpackActions(actions);
    } catch (error) {
      throw new EpisodeMismatch(error instanceof Error ? error.message : String(error));
    }
    checkNumbers(definition, numbers);
    return new EpisodeScript(definition, episode, numbers);
  }

  get numSteps(): number {
    return this.episode.num_steps;
  }

  /** What the game is given at `step`, until the next call. */
  action(step: number, { active }: Pick<Instance, "active">): Action | readonly Action[] {
    for (let agent = 0; agent < this.#numAgents; agent++) {
      if (this.#numAgents === 1 || active[agent] === 1)
        this.#sampler.give(this.numbers, step * this.#numAgents + agent, agent);
      else this.#sampler.rest(agent);
    }
    return this.#actions.of(0);
  }

  /** Null where the agents see what they saw then, or where that is not known of this step. */
  difference(step: number, instance: Instance): EpisodeDifference | null {
    const { interval, hashes } = this.episode.marks;
    if (step % interval !== 0) return null;
    const at = (step / interval) * HASH_DIGITS;
    const recorded = hashes.slice(at, at + HASH_DIGITS);
    if (recorded === "") return null;
    const now = (this.#hash.of(instance) >>> 0).toString(16).padStart(HASH_DIGITS, "0");
    if (now === recorded) return null;
    const since = Math.max(0, step - interval);
    const when = step === 0 ? "from the start" : `since step ${since}`;
    return this.at(step, `the agent${this.#numAgents > 1 ? "s see" : " sees"} something else ${when}`);
  }

  /**
   * What the end is compared with: after the last step, or where the play is over before it.
   *
   * @param error with which the game failed in step `outcome.episodeSteps`; null: it did not.
   */
  endDifference(outcome: Outcome, error: EpisodeError | null): EpisodeDifference | null {
    const { end_reason: reason, num_steps: numSteps, error: recorded, marks } = this.episode;
    // Records of before had no marks, and did not say how the game ended.
    const isOld = marks.hashes === "" && numSteps > 0;
    const step = outcome.episodeSteps;
    if (error !== null || recorded !== null) return this.#errorDifference(step, error, recorded);
    const isOver = outcome.episodeOver && outcome.endReason !== "cut";
    const wasOver = reason !== "cut" && reason !== "stopped";
    const now = isOver ? `ends here (${outcome.endReason})` : "goes on here";
    const then = wasOver ? `ended after ${numSteps} steps (${reason})` : `went on after ${numSteps} steps`;
    if (step !== numSteps || isOver !== wasOver || (wasOver && !isOld && outcome.endReason !== reason))
      return this.at(step, `the game ${now}; in the record it ${then}`);
    for (let agent = 0; agent < this.#numAgents; agent++) {
      const [was, is] = [this.episode.returns[agent], outcome.episodeReturns[agent]];
      const tolerance = (isOld ? OLD_RETURN_TOLERANCE : RETURN_TOLERANCE) * Math.max(1, Math.abs(was));
      if (!(Math.abs(was - is) <= tolerance)) {
        const whose = this.#numAgents > 1 ? ` of agent ${agent}` : "";
        return this.at(step, `the return${whose} is ${is}; in the record it was ${was}`);
      }
    }
    return null;
  }

  /** A difference at `step`. */
  at(step: number, text: string): EpisodeDifference {
    return { step, seconds: step * this.episode.seconds_per_step, text };
  }

  #errorDifference(
    step: number,
    now: EpisodeError | null,
    then: EpisodeError | null,
  ): EpisodeDifference | null {
    if (now === null) return this.at(step, `the game does not fail; in the record: ${then?.text}`);
    if (then === null) return this.at(step, `the game fails: ${now.text}`);
    const isSame =
      now.kind === then.kind && now.tick === then.tick && withoutPlace(now.text) === withoutPlace(then.text);
    return isSame
      ? null
      : this.at(
          step,
          `the game fails in tick ${now.tick} (${now.text}); in the record in tick ${then.tick} (${then.text})`,
        );
  }
}

/** A page may be served below another address than then, which the places in its files begin with. */
function withoutPlace(text: string): string {
  return text.replace(/ \([^()\s]*:\d+:\d+\)$/, "");
}

/** A stranger's file may have actions that the game has not. */
function checkNumbers({ action, ...definition }: GameDefinition, numbers: ActionNumbers): void {
  const isReal = numbers instanceof Float32Array;
  if (isReal !== (actionNumbers({ action, ...definition }) === Float32Array))
    throw new EpisodeMismatch(`its actions are ${isReal ? "real" : "whole"} numbers, and the game's are not`);
  const size = numActionComponents(action);
  for (let i = 0; i < numbers.length; i++) {
    const highest = isReal && numChoices(action, i % size) === null ? null : leafLimits(action, i % size)[1];
    const isRight =
      highest === null
        ? Number.isFinite(numbers[i])
        : Number.isInteger(numbers[i]) && numbers[i] >= 0 && numbers[i] <= highest;
    if (!isRight) throw new EpisodeMismatch(`${numbers[i]} is no action of the game`);
  }
}
