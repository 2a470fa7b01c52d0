/** Plays the episodes of an `evaluate` lease on fresh games, each to its end; training games are not touched. */

import type { EpisodeResult, EvaluationResult, Lease } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { ParameterSampler } from "attract/parameters";
import { episodeResult } from "../game/episode-result.ts";
import { FailureLimit, type FailureReport, isGameError, reportOf } from "../game/failures.ts";
import type { Policy } from "../policy/policy.ts";
import { Seats } from "./seats.ts";
import { YIELD_MS } from "./yielding.ts";

/** Most episodes played at once; the rest follow as others end. */
export const MAX_EVALUATION_GAMES = 128;

export interface EvaluationOptions {
  definition: GameDefinition;
  /** Numbers of a slot's recurrent state. */
  stateSize: number;
  /** As for the rollout loop. */
  yieldTurn(): Promise<void>;
  now(): number;
  failed(report: FailureReport): void;
  /** Whether to stop early; asked at each step. */
  isVoid(): boolean;
  /** Told how many steps the games have taken, side by side. */
  progressed(steps: number): void;
}

/**
 * One result per episode asked for, in that order, or null if it was voided. An episode that reaches `max_episode_steps`, or
 * whose game fails, ends as `cut`.
 *
 * @param policies as for `RolloutLoop.play`. @throws as `RolloutLoop.play`.
 */
export async function evaluate(
  lease: Lease,
  policies: readonly Policy[],
  options: EvaluationOptions,
): Promise<EvaluationResult | null> {
  const started = options.now();
  const evaluation = new Evaluation(lease, policies, options);
  let lastYield = started;
  while (evaluation.isOpen) {
    if (options.isVoid()) return null;
    await evaluation.step();
    options.progressed(evaluation.steps);
    if (options.now() - lastYield >= YIELD_MS) {
      await options.yieldTurn();
      lastYield = options.now();
    }
  }
  return {
    type: "evaluation_result",
    run_id: lease.run_id,
    lease_id: lease.lease_id,
    policy_version: (policies.find((policy) => !policy.isRandom) ?? policies[0]).policyVersion,
    episodes: evaluation.results as EpisodeResult[],
    play_seconds: (options.now() - started) / 1000,
  };
}

/** The games of one evaluation: as many side by side as fit, each place with one order after another. */
class Evaluation {
  readonly results: (EpisodeResult | null)[];
  /** Taken by its games side by side; what a lease for evaluation is renewed by (rule C3). */
  steps = 0;
  readonly #lease: Lease;
  readonly #options: EvaluationOptions;
  readonly #seats: Seats;
  /** Null in a place that has nothing left to play. */
  readonly #games: (Instance | null)[];
  /** Order that each place plays. */
  readonly #orders: Int32Array;
  readonly #parameters: ParameterSampler;
  readonly #failures = new FailureLimit();
  readonly #maxSteps: number;
  #nextOrder = 0;
  #numOpen = 0;
  #goodSteps = 0;

  constructor(lease: Lease, policies: readonly Policy[], options: EvaluationOptions) {
    const numGames = Math.max(1, Math.min(lease.episodes.length, MAX_EVALUATION_GAMES));
    this.#lease = lease;
    this.#parameters = new ParameterSampler(lease.parameters);
    this.#options = options;
    this.#maxSteps = lease.max_episode_steps ?? Number.POSITIVE_INFINITY;
    this.#seats = new Seats(options.definition, numGames, options.stateSize);
    this.#seats.assign(lease, policies);
    this.results = new Array(lease.episodes.length).fill(null);
    this.#games = new Array(numGames).fill(null);
    this.#orders = new Int32Array(numGames);
    for (let place = 0; place < numGames; place++) this.#startNext(place);
  }

  get isOpen(): boolean {
    return this.#numOpen > 0;
  }

  async step(): Promise<void> {
    const seats = this.#seats;
    await seats.controllers.run();
    seats.decide(this.#games);
    this.steps++;
    for (let place = 0; place < this.#games.length; place++) {
      const game = this.#games[place];
      if (game === null) continue;
      try {
        game.step(seats.action(place) as never);
      } catch (error) {
        this.#fail(place, error, game.episodeTicks + 1);
        this.#finish(place, game, "cut");
        continue;
      }
      this.#takeIn(place, game);
      if (game.episodeOver) this.#finish(place, game, game.endReason!);
      else if (game.episodeSteps >= this.#maxSteps) this.#finish(place, game, "cut");
    }
  }

  /** States go on, or are zeroed where a trajectory ended, as in training (rule S4). */
  #takeIn(place: number, game: Instance): void {
    for (let agent = 0; agent < game.numAgents; agent++) {
      if (game.valid[agent] === 0) continue;
      this.#goodSteps++;
      const slot = place * game.numAgents + agent;
      this.#seats.advance(slot);
      if (game.terminated[agent] === 1 || game.truncated[agent] === 1) this.#seats.forget(slot);
    }
  }

  #finish(place: number, game: Instance, reason: EpisodeResult["end_reason"]): void {
    this.results[this.#orders[place]] = episodeResult(game, reason, 0, this.#lease.lesson_id);
    this.#numOpen--;
    this.#startNext(place);
  }

  #startNext(place: number): void {
    const { seed, episodes } = this.#lease;
    const first = place * this.#seats.numAgents;
    for (let slot = first; slot < first + this.#seats.numAgents; slot++) this.#seats.batch.clearRow(slot);
    while (this.#nextOrder < episodes.length) {
      const order = this.#nextOrder++;
      const { index } = episodes[order];
      // A fresh object per episode: nothing one of them left behind can reach the next.
      const game = createInstance(this.#options.definition, this.#seats.memory(place));
      this.#games[place] = game;
      this.#orders[place] = order;
      game.setStream(seed.low, seed.high, index);
      this.#seats.setEpisode(place, seed, index, 0);
      try {
        game.start(0, this.#parameters.sample(seed.low, seed.high, 0, index));
        this.#numOpen++;
        return;
      } catch (error) {
        this.#fail(place, error, 0);
        this.results[order] = episodeResult(game, "cut", 0, this.#lease.lesson_id);
      }
    }
    this.#games[place] = null;
  }

  #fail(place: number, error: unknown, tick: number): void {
    if (!isGameError(error)) throw error;
    const { index } = this.#lease.episodes[this.#orders[place]];
    const where = {
      lease_id: this.#lease.lease_id,
      slot_id: index * this.#seats.numAgents,
      instance_id: index,
      episode: 0,
      tick,
      seed: this.#lease.seed,
    };
    const { definition } = this.#options;
    const instance = this.#games[place] ?? undefined;
    const action = tick > 0 ? this.#seats.action(place) : null;
    const report = reportOf(error, where, undefined, { definition, instance, action });
    this.#options.failed(report);
    this.#failures.count(report, this.#goodSteps);
  }
}
