/** Copies of a game through their episodes: started, stepped, cut, failed and started again (rules E1, E3, E7, S5, C5, C6). */

import type { EpisodeError, EpisodeResult, Lease, RecordedEpisode } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { EndReason, Instance, InstanceOptions } from "attract/instance";
import { ParameterSampler } from "attract/parameters";
import { EpisodeTape, recordedSeats } from "../episode/episode-tape.ts";
import type { ActionSampler } from "../policy/action-sampler.ts";
import { cutStep } from "./desync.ts";
import { episodeResult } from "./episode-result.ts";
import { episodeError, type FailureLimit, isGameError, reportOf } from "./failures.ts";

/** Why an episode is over: as it ended, or because its game failed. */
export type Ending = EndReason | "failed";

/** Under which terms games are played. */
export type RunnerTerms = Pick<
  Lease,
  "run_id" | "lease_id" | "seed" | "seats" | "lesson_id" | "parameters" | "desync_steps" | "max_episode_steps"
>;

export interface GameRunnerOptions {
  definition: GameDefinition;
  /** One id per copy; issued by the server. */
  instanceIds: readonly number[];
  /** Where copy `i` writes what its agents see and may do. */
  memory(i: number): Pick<InstanceOptions, "views" | "masks">;
  /** Holds the actions that each copy is stepped with, those of all agents of copy 0 first. */
  sampler: Pick<ActionSampler, "actions" | "numComponents">;
  /** Takes the report of each failure, and ends the play after too many. */
  failures: FailureLimit;
  /** See `GameRunner.announce`. Default: null. */
  announce?: ((instanceId: number) => void) | null;
}

/** Whether each start of a game is waited for: one that needs turns, and one that may need a fresh page for it. */
export function startsAhead({ page }: GameDefinition): boolean {
  return page !== undefined && (page.turns || page.reset !== "own");
}

/**
 * Plays games for rollouts, their replays, served stepping and evaluations. Owned by one of
 * those; `open` before the first `start`. Allocates nothing per step.
 */
export class GameRunner {
  /** Null where no copy is: it was never started, or could not be. */
  readonly games: (Instance | null)[];
  /** Called before each game's turn with its instance id; null: turns are not announced, which costs nothing. */
  announce: ((instanceId: number) => void) | null;
  readonly #definition: GameDefinition;
  readonly #memory: GameRunnerOptions["memory"];
  readonly #failures: FailureLimit;
  readonly #ids: number[];
  readonly #sampler: GameRunnerOptions["sampler"];
  /** Numbers of all actions of one copy. */
  readonly #rowSize: number;
  /** Per copy, the episode under way as far as it was recorded. */
  readonly #tapes: EpisodeTape[];
  /** Per copy, the step of its first episode at which it is cut; 0 = not. */
  readonly #cutSteps: Int32Array;
  /** Per copy, the lesson under which its episode was started (C6). */
  readonly #lessons: (string | null)[];
  #terms!: RunnerTerms;
  #parameters!: ParameterSampler;

  constructor(options: GameRunnerOptions) {
    const { definition, instanceIds, memory, sampler, failures, announce = null } = options;
    this.announce = announce;
    this.#definition = definition;
    this.#memory = memory;
    this.#failures = failures;
    this.#ids = [...instanceIds];
    this.#sampler = sampler;
    this.#rowSize = sampler.numComponents * (definition.numAgents ?? 1);
    this.#tapes = this.#ids.map(() => new EpisodeTape(definition));
    this.games = new Array<Instance | null>(instanceIds.length).fill(null);
    this.#cutSteps = new Int32Array(instanceIds.length);
    this.#lessons = new Array<string | null>(instanceIds.length).fill(null);
  }

  /** From now on failures are of this lease; its parameters and its lesson hold from each copy's next start on (C6). */
  open(terms: RunnerTerms): void {
    this.#terms = terms;
    this.#parameters = new ParameterSampler(terms.parameters);
    // An evaluation's episodes are cut where they have become too long, first ones of training where the seed says.
    const { seed, desync_steps, max_episode_steps: longest } = terms;
    for (let i = 0; i < this.#ids.length; i++) {
      this.#cutSteps[i] = longest ?? cutStep(seed, this.#ids[i], desync_steps);
    }
  }

  /**
   * Starts `episode` of copy `i`, or the first later one that starts at all.
   *
   * @throws FatalGameError when the game fails again and again; whatever else than a game's error was thrown.
   */
  start(i: number, episode: number): void {
    for (let next = episode; !this.tryStart(i, next); next++);
  }

  /**
   * As `start`, of a game whose starts are waited for.
   *
   * @param preload resolves once a copy can begin.
   */
  async startAhead(i: number, episode: number, preload: () => Promise<void>): Promise<void> {
    for (let next = episode; ; next++) {
      await preload();
      if (await this.tryStartAhead(i, next)) return;
    }
  }

  /** As `tryStart`, of a game whose starts are waited for. */
  async tryStartAhead(i: number, episode: number): Promise<boolean> {
    try {
      await this.#prepare(i).startAhead(episode, this.#begin(i, episode));
    } catch (error) {
      this.#report(error, i, episode, 0, null);
      this.clear(i);
      return false;
    }
    return this.tryStart(i, episode);
  }

  /** Null, or what `step` of copy `i` has to wait for. */
  stepAhead(i: number, action: Action | ArrayLike<Action>): Promise<void> | null {
    const game = this.games[i]!;
    this.announce?.(game.instanceId);
    return game.stepAhead(action);
  }

  /** As `startNext`, of a game whose starts are waited for. */
  async startNextAhead(i: number, ending: Ending, preload: () => Promise<void>): Promise<void> {
    const { episode } = this.games[i]!;
    if (ending === "failed") this.clear(i);
    await this.startAhead(i, episode + 1, preload);
  }

  /** Whether `episode` of copy `i` started; if not, that was reported. @throws as `start`. */
  tryStart(i: number, episode: number): boolean {
    try {
      this.#prepare(i).start(episode, this.#begin(i, episode));
    } catch (error) {
      this.#report(error, i, episode, 0, null);
      this.clear(i);
      return false;
    }
    return true;
  }

  /**
   * Takes one step of copy `i`, which has an episode under way. What it brought stands in `games[i]`.
   *
   * @returns why the episode is over now, or null while it goes on; then `startNext` is due, once what the episode left has
   * been read. "failed": the step counts for no agent, and was reported.
   * @throws as `start`.
   */
  step(i: number, action: Action | ArrayLike<Action>): Ending | null {
    // The owner reads the outcome; it is not called back: V8 compiles a call with three targets worse than one with one.
    const game = this.games[i]!;
    this.announce?.(game.instanceId);
    this.#tapes[i].add(game, this.#sampler.actions, i * this.#rowSize);
    try {
      game.step(action);
    } catch (error) {
      this.#report(error, i, game.episode, game.currentTick, action);
      return "failed";
    }
    if (game.episode === 0 && game.episodeSteps === this.#cutSteps[i] && !game.episodeOver) game.cut();
    return game.endReason;
  }

  /** Starts the episode after one that is over; a fresh copy if it failed, for what is left of that cannot be trusted. */
  startNext(i: number, ending: Ending): void {
    const { episode } = this.games[i]!;
    if (ending === "failed") this.clear(i);
    this.start(i, episode + 1);
  }

  /** What the episode of copy `i` came to; `step` is that of the segment in which it ended. */
  result(i: number, ending: Ending, step: number): EpisodeResult {
    const reason = ending === "failed" ? "cut" : ending;
    return episodeResult(this.games[i]!, reason, step, this.#lessons[i]);
  }

  /** The episode of copy `i` as it was played up to now; null where not all of it was recorded. */
  recorded(i: number, ending: Ending): RecordedEpisode | null {
    // A failed episode travels with the report of its failure.
    return ending === "failed" ? null : this.#recorded(i, ending, null);
  }

  /** Drops copy `i`: the next start makes a fresh one. */
  clear(i: number): void {
    this.games[i]?.game.dispose?.();
    this.games[i] = null;
  }

  clearAll(): void {
    for (let i = 0; i < this.games.length; i++) this.clear(i);
  }

  /** From now on copy `i` is a fresh one of instance `instanceId`. */
  assign(i: number, instanceId: number): void {
    this.clear(i);
    this.#ids[i] = instanceId;
  }

  /** Copy `i` on its own streams, made where there is none. */
  #prepare(i: number): Instance {
    const id = this.#ids[i];
    const { seed } = this.#terms;
    this.announce?.(id);
    this.games[i] ??= createInstance(this.#definition, this.#memory(i));
    const game = this.games[i];
    game.setStream(seed.low, seed.high, id);
    return game;
  }

  /** Parameters of an episode of copy `i`, whose recording begins. */
  #begin(i: number, episode: number): Readonly<Record<string, number>> | undefined {
    const { seed, lesson_id: lessonId } = this.#terms;
    const parameters = this.#parameters.sample(seed.low, seed.high, episode, this.#ids[i]);
    this.#lessons[i] = lessonId;
    this.#tapes[i].begin(parameters);
    return parameters;
  }

  #recorded(i: number, ending: EndReason | null, error: EpisodeError | null): RecordedEpisode | null {
    const { run_id, seed, seats } = this.#terms;
    const numAgents = this.#definition.numAgents ?? 1;
    const first = (i * numAgents) % seats.length;
    const own = recordedSeats(seats.slice(first, first + numAgents));
    const terms = { run_id, seed, lesson_id: this.#lessons[i], seats: own };
    return this.#tapes[i].recorded(this.games[i]!, terms, ending, error);
  }

  #report(error: unknown, i: number, episode: number, tick: number, action: unknown): void {
    if (!isGameError(error)) throw error;
    const { lease_id, seed } = this.#terms;
    const id = this.#ids[i];
    const definition = this.#definition;
    const place = {
      lease_id,
      slot_id: id * (definition.numAgents ?? 1),
      instance_id: id,
      episode,
      tick,
      seed,
    };
    const instance = this.games[i] ?? undefined;
    const report = reportOf(error, place, undefined, { definition, instance, action });
    if (instance !== undefined && this.#failures.isFirst(report))
      report.recorded = this.#recorded(i, null, episodeError(error, instance));
    this.#failures.count(report);
  }
}
