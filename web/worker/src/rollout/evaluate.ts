/** Plays the episodes of an `evaluate` lease on fresh games, each to its end; training games are not touched. */

import type { EpisodeResult, EvaluationResult, Lease, RecordedEpisode } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { EpisodePicker } from "../episode/episode-picker.ts";
import { unplayedResult } from "../game/episode-result.ts";
import { FailureLimit, type FailureReport } from "../game/failures.ts";
import { type Ending, GameRunner } from "../game/game-runner.ts";
import type { PreloadedGames } from "../page/preloaded-games.ts";
import type { Policy } from "../policy/policy.ts";
import { Seats } from "./seats.ts";
import { YIELD_MS } from "./yielding.ts";

/** Most episodes played at once; the rest follow as others end. */
export const MAX_EVALUATION_GAMES = 128;

export interface EvaluationOptions {
  definition: GameDefinition;
  /** As for the rollout loop. */
  preloaded?: PreloadedGames | null;
  /** Numbers of a slot's recurrent state. */
  stateSize: number;
  /** As for the rollout loop. */
  yieldTurn(): Promise<void>;
  now(): number;
  failed(report: FailureReport): void;
  /** Takes the episodes that `lease.record` asks for, before the result. */
  recorded(episode: RecordedEpisode): void;
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
  try {
    while (evaluation.isOpen) {
      if (options.isVoid()) return null;
      await evaluation.step();
      options.progressed(evaluation.steps);
      if (options.now() - lastYield >= YIELD_MS) {
        await options.yieldTurn();
        lastYield = options.now();
      }
    }
    evaluation.picker.finish();
  } finally {
    evaluation.close();
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
  readonly picker: EpisodePicker;
  readonly #lease: Lease;
  readonly #isVoid: () => boolean;
  readonly #seats: Seats;
  /** Nothing is in a place that has nothing left to play. */
  readonly #runner: GameRunner;
  /** Order that each place plays. */
  readonly #orders: Int32Array;
  readonly #preloaded: PreloadedGames | null;
  /** Places that wait for their next order. */
  readonly #vacant: number[];
  #nextOrder = 0;
  #numOpen = 0;
  #goodSteps = 0;

  constructor(lease: Lease, policies: readonly Policy[], options: EvaluationOptions) {
    const { definition, preloaded = null, stateSize } = options;
    const maxCopies = preloaded?.maxCopies ?? MAX_EVALUATION_GAMES;
    const numPlaces = Math.max(1, Math.min(lease.episodes.length, MAX_EVALUATION_GAMES, maxCopies));
    this.#lease = lease;
    this.#isVoid = options.isVoid;
    this.picker = new EpisodePicker(lease.record, options.recorded);
    this.#preloaded = preloaded;
    this.#seats = new Seats(definition, numPlaces, stateSize);
    this.#seats.assign(lease, policies);
    this.#runner = new GameRunner({
      definition,
      instanceIds: new Array<number>(numPlaces).fill(0),
      memory: (place) => this.#seats.memory(place),
      sampler: this.#seats.sampler,
      failures: new FailureLimit(options.failed, () => this.#goodSteps),
    });
    this.#runner.open(lease);
    this.results = new Array(lease.episodes.length).fill(null);
    this.#orders = new Int32Array(numPlaces);
    this.#vacant = Array.from({ length: numPlaces }, (_, place) => place);
  }

  get isOpen(): boolean {
    return this.#numOpen > 0 || this.#nextOrder < this.#lease.episodes.length;
  }

  async step(): Promise<void> {
    await this.#fill();
    if (this.#numOpen === 0) return;
    const seats = this.#seats;
    const { games } = this.#runner;
    await seats.controllers.run();
    const thinking = seats.think(games);
    if (thinking !== null) {
      await thinking;
      if (this.#isVoid()) return;
    }
    seats.decide(games);
    this.steps++;
    for (let place = 0; place < games.length; place++) {
      const game = games[place];
      if (game === null) continue;
      const action = seats.action(place);
      const ahead = this.#runner.stepAhead(place, action);
      if (ahead !== null) await ahead;
      const ending = this.#runner.step(place, action);
      if (ending !== "failed") this.#takeIn(place, game);
      if (ending !== null) this.#finish(place, ending);
    }
  }

  /** Its copies are not needed any more. */
  close(): void {
    this.#runner.clearAll();
  }

  /** Starts an order in each place that waits for one. */
  async #fill(): Promise<void> {
    while (this.#vacant.length > 0 && this.#nextOrder < this.#lease.episodes.length) {
      const waiting = this.#preloaded?.preload() ?? null;
      if (waiting !== null) await waiting;
      await this.#startNext(this.#vacant[0]);
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

  #finish(place: number, ending: Ending): void {
    const result = this.#runner.result(place, ending, 0);
    this.results[this.#orders[place]] = result;
    this.picker.offer(result.returns, () => this.#runner.recorded(place, ending));
    this.#numOpen--;
    this.#runner.clear(place);
    this.#vacant.push(place);
  }

  /** Starts the next order in `place`, the first that waits; one that does not start has no result to wait for. */
  async #startNext(place: number): Promise<void> {
    const { seed, episodes, lesson_id: lessonId } = this.#lease;
    const { numAgents, batch } = this.#seats;
    const first = place * numAgents;
    for (let slot = first; slot < first + numAgents; slot++) batch.clearRow(slot);
    const order = this.#nextOrder++;
    const { index } = episodes[order];
    this.#orders[place] = order;
    // A fresh object per episode: nothing one of them left behind can reach the next.
    this.#runner.assign(place, index);
    this.#seats.setEpisode(place, seed, index, 0);
    if (await this.#runner.tryStartAhead(place, 0)) {
      this.#vacant.shift();
      this.#numOpen++;
    } else this.results[order] = unplayedResult(index, numAgents, lessonId);
  }
}
