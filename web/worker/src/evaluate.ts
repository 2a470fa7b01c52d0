/** Plays the episodes of an `evaluate` lease on fresh games, each to its end; training games are not touched. */

import type { EpisodeResult, EvaluationResult, Lease } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { GameInstance } from "attract/instance";
import { ParameterSampler } from "attract/parameters";
import { ActionRandom } from "attract/random";
import { episodeResult } from "./episode-result.ts";
import { FailureLimit, type FailureReport, isGameError, reportOf } from "./failures.ts";
import { ObservationBatch } from "./observation-batch.ts";
import type { Policy } from "./policy.ts";
import { DiscreteSampler } from "./sampler.ts";
import { YIELD_MS } from "./yielding.ts";

/** Most episodes played at once; the rest follow as rows become free. */
const MAX_ROWS = 128;

export interface EvaluationOptions {
  definition: GameDefinition;
  /** As for the rollout loop. */
  yieldTurn(): Promise<void>;
  now(): number;
  failed(report: FailureReport): void;
  /** Whether to stop early; asked at each step. */
  isVoid(): boolean;
  /** Told the steps of the longest episode so far. */
  progressed(steps: number): void;
}

/**
 * One result per episode asked for, in that order, or null if it was voided. An episode that reaches `max_episode_steps`, or
 * whose game fails, ends as `cut`.
 *
 * @throws FatalGameError when the game fails again and again; whatever the policy throws.
 */
export async function evaluate(
  lease: Lease,
  policy: Policy,
  options: EvaluationOptions,
): Promise<EvaluationResult | null> {
  const started = options.now();
  const evaluation = new Evaluation(lease, options);
  let lastYield = started;
  while (evaluation.isOpen) {
    if (options.isVoid()) return null;
    await policy.run(evaluation.batch, evaluation.batch.capacity);
    evaluation.step(policy);
    options.progressed(evaluation.longestSteps);
    if (options.now() - lastYield >= YIELD_MS) {
      await options.yieldTurn();
      lastYield = options.now();
    }
  }
  return {
    type: "evaluation_result",
    run_id: lease.run_id,
    lease_id: lease.lease_id,
    policy_version: policy.policyVersion,
    episodes: evaluation.results as EpisodeResult[],
    play_seconds: (options.now() - started) / 1000,
  };
}

/** The games of one evaluation: as many rows as fit, each with one order after another. */
class Evaluation {
  readonly batch: ObservationBatch;
  readonly results: (EpisodeResult | null)[];
  longestSteps = 0;
  readonly #lease: Lease;
  readonly #options: EvaluationOptions;
  readonly #games: GameInstance[] = [];
  /** Order that each row plays, -1 when there is none left. */
  readonly #orders: Int32Array;
  readonly #random: ActionRandom;
  readonly #sampler: DiscreteSampler;
  readonly #parameters: ParameterSampler;
  readonly #failures = new FailureLimit();
  readonly #maxSteps: number;
  #nextOrder = 0;
  #numOpen = 0;
  #goodSteps = 0;

  constructor(lease: Lease, options: EvaluationOptions) {
    const { definition } = options;
    if (definition.action.kind !== "discrete") {
      throw new Error(`expected a discrete action space, got ${definition.action.kind}`);
    }
    const rows = Math.max(1, Math.min(lease.episodes.length, MAX_ROWS));
    this.#lease = lease;
    this.#parameters = new ParameterSampler(lease.parameters);
    this.#options = options;
    this.#maxSteps = lease.max_episode_steps ?? Number.POSITIVE_INFINITY;
    this.batch = new ObservationBatch(definition.observation, rows);
    this.results = new Array(lease.episodes.length).fill(null);
    this.#orders = new Int32Array(rows).fill(-1);
    this.#random = new ActionRandom(rows, 1);
    this.#sampler = new DiscreteSampler(definition.action.n);
    for (let row = 0; row < rows; row++) this.#startNext(row);
  }

  get isOpen(): boolean {
    return this.#numOpen > 0;
  }

  step(policy: Policy): void {
    const { deterministic } = this.#lease.seats[0];
    for (let row = 0; row < this.#orders.length; row++) {
      if (this.#orders[row] < 0) continue;
      const game = this.#games[row];
      const action = deterministic
        ? this.#sampler.argmax(policy.logits, row)
        : this.#sampler.sample(policy.logits, row, this.#random.uniform(row, game.episodeSteps, 0));
      try {
        game.step(action);
      } catch (error) {
        this.#fail(row, error, game.episodeTicks + 1);
        this.#finish(row, "cut");
        continue;
      }
      this.#goodSteps++;
      this.longestSteps = Math.max(this.longestSteps, game.episodeSteps);
      if (game.episodeOver) this.#finish(row, game.endReason!);
      else if (game.episodeSteps >= this.#maxSteps) this.#finish(row, "cut");
    }
  }

  #finish(row: number, reason: EpisodeResult["end_reason"]): void {
    this.results[this.#orders[row]] = episodeResult(this.#games[row], reason, 0);
    this.#orders[row] = -1;
    this.#numOpen--;
    this.#startNext(row);
  }

  #startNext(row: number): void {
    while (this.#nextOrder < this.#lease.episodes.length) {
      const order = this.#nextOrder++;
      const { index } = this.#lease.episodes[order];
      const { low, high } = this.#lease.seed;
      // A fresh object per episode: nothing one of them left behind can reach the next.
      const game = new GameInstance(this.#options.definition, { views: [this.batch.views[row]] });
      this.#games[row] = game;
      this.#orders[row] = order;
      this.#numOpen++;
      game.setStream(low, high, index);
      this.#random.setEpisode(row, low, high, index, 0);
      try {
        game.start(0, this.#parameters.sample(low, high, 0, index));
        return;
      } catch (error) {
        this.#fail(row, error, 0);
        this.results[order] = episodeResult(game, "cut", 0);
        this.#orders[row] = -1;
        this.#numOpen--;
      }
    }
    // A row without an episode still goes through the policy: its numbers must be finite.
    for (let e = 0; e < this.batch.arrays.length; e++) {
      const { size } = this.batch.entries[e];
      this.batch.arrays[e].fill(0, row * size, (row + 1) * size);
    }
  }

  #fail(row: number, error: unknown, tick: number): void {
    if (!isGameError(error)) throw error;
    const { index } = this.#lease.episodes[this.#orders[row]];
    const report = reportOf(error, {
      lease_id: this.#lease.lease_id,
      slot_id: index,
      instance_id: index,
      episode: 0,
      tick,
      seed: this.#lease.seed,
    });
    this.#options.failed(report);
    this.#failures.count(report, this.#goodSteps);
  }
}
