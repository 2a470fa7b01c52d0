/** Plays a worker's training games as one batch under a lease and hands out finished blocks (rules T1-T4, E1-E5, E7, E8, C5). */

import {
  type EndReason,
  type Lease,
  type RolloutClose,
  type Seed,
  tensorOf,
  type WelcomeWorker,
} from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { GameInstance } from "attract/instance";
import { ParameterSampler } from "attract/parameters";
import { ActionRandom, philox4x32 } from "attract/random";
import { type BlockFrame, BlockWriter } from "./block-writer.ts";
import { episodeResult } from "./episode-result.ts";
import { FailureLimit, type FailureReport, isGameError, reportOf } from "./failures.ts";
import { ObservationBatch } from "./observation-batch.ts";
import type { Policy } from "./policy.ts";
import { SegmentRecorder } from "./recorder.ts";
import { DiscreteSampler } from "./sampler.ts";
import { YIELD_MS } from "./yielding.ts";

/** Stream of the numbers that spread the first episodes (rule E7); the SDK's streams are 1 to 5. */
export const DESYNC_STREAM = 6;
/** Most instances stepped between two looks at the clock; fewer where these take longer than `CHUNK_MS`. */
const LARGEST_CHUNK = 16;
const CHUNK_MS = 0.5;

export interface LoopOptions {
  definition: GameDefinition;
  seat: Pick<WelcomeWorker, "run_id" | "instance_ids" | "horizon" | "max_frame_bytes">;
  /** Gives the event loop its turn and waits for other users of the inference engine; asked every 5 ms. */
  yieldTurn(): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Takes a finished block. */
  emit(frame: BlockFrame): void;
  /** Takes the report of a game that broke; the loop goes on with the next episode. */
  failed(report: FailureReport): void;
  /** Told before each game's turn whose it is; null: nobody asks, which costs nothing. */
  announce: ((instanceId: number) => void) | null;
  /** A promise while too much is waiting to be sent, else null; asked after each segment. */
  gate(): Promise<void> | null;
}

/** Owned by one rollout worker. Its own code allocates nothing per step. */
export class RolloutLoop {
  readonly batch: ObservationBatch;
  /** Steps per slot played under the current lease. */
  leaseSteps = 0;
  /** See `LoopOptions`; may be set to null at any time. */
  announce: LoopOptions["announce"];
  /** All agent steps played, for the display. */
  agentSteps = 0;
  readonly #options: LoopOptions;
  readonly #instances: GameInstance[] = [];
  readonly #instanceIds: readonly number[];
  readonly #recorder: SegmentRecorder;
  readonly #writer: BlockWriter;
  readonly #sampler: DiscreteSampler;
  readonly #random: ActionRandom;
  /** Of the current lease: its distributions take effect at each next start (C6). */
  #parameters = new ParameterSampler({});
  readonly #failures = new FailureLimit();
  /** Step of the first episode at which it is cut; 0 = not. */
  readonly #cutSteps: Int32Array;
  #lease: Lease | null = null;
  /** Every slot's own step counter (S2). */
  #step = 0;
  #isVoid = false;
  #chunk = LARGEST_CHUNK;
  #lastYield = 0;
  #lastEnd: number | null = null;
  #inferenceMs = 0;
  #gameMs = 0;

  constructor(options: LoopOptions) {
    const { definition, seat } = options;
    const numSlots = seat.instance_ids.length;
    if (definition.action.kind !== "discrete" || definition.actionMask === true) {
      throw new Error(`expected a discrete action space without a mask, got ${definition.action.kind}`);
    }
    this.#options = options;
    this.announce = options.announce;
    this.#instanceIds = seat.instance_ids;
    this.batch = new ObservationBatch(definition.observation, numSlots);
    // With one agent per game an instance's slot has its number.
    this.#recorder = new SegmentRecorder(definition.observation, seat.horizon, seat.instance_ids);
    this.#writer = new BlockWriter(this.#recorder, this.batch, seat.max_frame_bytes, seat.run_id);
    this.#sampler = new DiscreteSampler(definition.action.n, numSlots);
    this.#random = new ActionRandom(numSlots, 1);
    this.#cutSteps = new Int32Array(numSlots);
  }

  /** Drops what is left of this lease; its games stay where they are (rule E5). */
  voidLease(leaseId: number): void {
    if (this.#lease?.lease_id === leaseId) this.#isVoid = true;
  }

  /**
   * Plays `lease` to its end and returns its close, or null if it was voided. Purpose `train` or `record`.
   *
   * @throws FatalGameError when the game fails again and again; whatever the policy throws.
   */
  async play(lease: Lease, policy: Policy): Promise<RolloutClose | null> {
    const started = this.#begin(lease);
    const { horizon } = this.#recorder;
    let numBlocks = 0;
    await policy.run(this.batch, this.batch.capacity);
    for (let segment = 0; segment < lease.num_segments && !this.#isVoid; segment++) {
      this.#recorder.begin(this.#step);
      for (let t = 0; t < horizon && !this.#isVoid; t++) {
        if (t > 0) {
          const before = this.#options.now();
          await policy.run(this.batch, this.batch.capacity);
          if (this.#isTurnDue(before)) await this.#yield();
        }
        this.#decide(t, policy, lease.seats[0].deterministic);
        for (let next = this.#stepGames(t, 0); next >= 0; next = this.#stepGames(t, next))
          await this.#yield();
        this.#step++;
        this.leaseSteps++;
      }
      if (this.#isVoid) break;
      await this.#recorder.finals.evaluate(policy);
      // These values are the segment's bootstrap values and, with the logits, the next segment's first decision.
      const before = this.#options.now();
      await policy.run(this.batch, this.batch.capacity);
      if (this.#isTurnDue(before)) await this.#yield();
      this.#recorder.setBootstrapValues(policy.values);
      const identity = {
        runId: lease.run_id,
        leaseId: lease.lease_id,
        segmentIndex: segment,
        policyId: policy.policyId,
        policyVersion: policy.policyVersion,
      };
      numBlocks = this.#writer.write(identity, numBlocks, this.#options.emit);
      const gate = this.#options.gate();
      if (gate !== null) await gate;
    }
    return this.#end(lease, numBlocks, started);
  }

  #begin(lease: Lease): number {
    const started = this.#options.now();
    this.#lease = lease;
    this.#isVoid = false;
    this.#parameters = new ParameterSampler(lease.parameters);
    this.leaseSteps = 0;
    this.#inferenceMs = 0;
    this.#gameMs = 0;
    this.#lastYield = started;
    for (let i = 0; i < this.#cutSteps.length; i++) {
      this.#cutSteps[i] = cutStep(lease.seed, this.#instanceIds[i], lease.desync_steps);
    }
    if (this.#instances.length === 0) {
      for (let i = 0; i < this.#instanceIds.length; i++) this.#startEpisode(i, 0);
    }
    return started;
  }

  #end(lease: Lease, numBlocks: number, started: number): RolloutClose | null {
    const ended = this.#options.now();
    const waited = this.#lastEnd === null ? 0 : started - this.#lastEnd;
    this.#lastEnd = ended;
    this.#lease = null;
    if (lease.purpose === "record") {
      // The warm-up is not part of training: its games begin again with episode 0 at the next lease.
      this.#instances.length = 0;
      this.#step = 0;
    }
    if (this.#isVoid) return null;
    const { slotIds, bootstrapValues, numSlots } = this.#recorder;
    return {
      type: "rollout_close",
      run_id: lease.run_id,
      lease_id: lease.lease_id,
      num_blocks: numBlocks,
      slot_id: tensorOf(slotIds.slice(), [numSlots]),
      bootstrap_value: tensorOf(bootstrapValues.slice(), [numSlots]),
      play_seconds: (ended - started) / 1000,
      inference_seconds: this.#inferenceMs / 1000,
      game_seconds: this.#gameMs / 1000,
      wait_seconds: waited / 1000,
    };
  }

  /** Counts the time of a run of the policy; whether the event loop must have its turn now. */
  #isTurnDue(runStarted: number): boolean {
    const now = this.#options.now();
    this.#inferenceMs += now - runStarted;
    return now - this.#lastYield >= YIELD_MS;
  }

  async #yield(): Promise<void> {
    await this.#options.yieldTurn();
    this.#lastYield = this.#options.now();
  }

  #decide(t: number, policy: Policy, deterministic: boolean): void {
    const { logits, values } = policy;
    const sampler = this.#sampler;
    const numInstances = this.#instances.length;
    this.#recorder.recordObservations(t, this.batch);
    if (deterministic) {
      sampler.argmaxRows(logits, numInstances);
    } else {
      const { uniforms } = sampler;
      for (let i = 0; i < numInstances; i++) {
        uniforms[i] = this.#random.uniform(i, this.#instances[i].episodeSteps, 0);
      }
      sampler.sampleRows(logits, numInstances);
    }
    const { actions, logProbs } = sampler;
    for (let i = 0; i < numInstances; i++) {
      if (!(logProbs[i] <= 0) || values[i] - values[i] !== 0) {
        throw new Error(`version ${policy.policyVersion} of the policy gave a number that is not finite`);
      }
    }
    this.#recorder.recordDecisions(t, actions, logProbs, values);
  }

  /**
   * Steps the games from instance `from` on. Returns -1 when all have been, else the instance to go on with after a yield:
   * a promise for each step would be most of what the loop allocates.
   */
  #stepGames(t: number, from: number): number {
    const numInstances = this.#instances.length;
    let before = this.#options.now();
    for (let start = from; start < numInstances; ) {
      const end = Math.min(start + this.#chunk, numInstances);
      for (let i = start; i < end; i++) this.#stepGame(t, i);
      const after = this.#options.now();
      this.#gameMs += after - before;
      this.#chunk =
        after - before > CHUNK_MS ? (this.#chunk + 1) >> 1 : Math.min(LARGEST_CHUNK, 2 * this.#chunk);
      if (end < numInstances && after - this.#lastYield >= YIELD_MS) return end;
      before = after;
      start = end;
    }
    this.agentSteps += numInstances;
    return -1;
  }

  #stepGame(t: number, i: number): void {
    const game = this.#instances[i];
    this.announce?.(game.instanceId);
    try {
      game.step(this.#sampler.actions[i]);
    } catch (error) {
      this.#fail(i, error, game.episodeTicks + 1);
      this.#recorder.recordFailure(t, i);
      // Its last good step, if that is of this segment.
      if (t > 0 && game.episodeSteps > 0) this.#recorder.recordEpisode(i, episodeResult(game, "cut", t - 1));
      this.#replaceGame(i);
      return;
    }
    const isCut = !game.episodeOver && game.episode === 0 && game.episodeSteps === this.#cutSteps[i];
    const truncated = isCut ? 1 : game.truncated[0];
    this.#recorder.recordOutcome(t, i, game, truncated);
    if (!isCut && !game.episodeOver) return;
    if (truncated === 1) this.#recorder.recordFinal(t, i, this.batch);
    const reason = isCut ? "cut" : (game.endReason as EndReason);
    this.#recorder.recordEpisode(i, episodeResult(game, reason, t));
    this.#startEpisode(i, game.episode + 1);
  }

  /** Starts `episode` of instance `i`, or the first later one that starts at all. */
  #startEpisode(i: number, episode: number): void {
    const { low, high } = this.#lease!.seed;
    const instanceId = this.#instanceIds[i];
    for (let next = episode; ; next++) {
      try {
        this.#instances[i] ??= new GameInstance(this.#options.definition, { views: [this.batch.views[i]] });
        const game = this.#instances[i];
        this.announce?.(instanceId);
        game.setStream(low, high, instanceId);
        game.start(next, this.#parameters.sample(low, high, next, instanceId));
        this.#random.setEpisode(i, low, high, instanceId, next);
        return;
      } catch (error) {
        this.#fail(i, error, 0, next);
      }
    }
  }

  /** A fresh object for instance `i`: what is left of one that failed cannot be trusted. */
  #replaceGame(i: number): void {
    const episode = this.#instances[i].episode + 1;
    try {
      this.#instances[i] = new GameInstance(this.#options.definition, { views: [this.batch.views[i]] });
    } catch (error) {
      this.#fail(i, error, 0, episode);
    }
    this.#startEpisode(i, episode);
  }

  #fail(i: number, error: unknown, tick: number, episode?: number): void {
    if (!isGameError(error)) throw error;
    const report = reportOf(error, {
      lease_id: this.#lease!.lease_id,
      slot_id: this.#instanceIds[i],
      instance_id: this.#instanceIds[i],
      episode: episode ?? this.#instances[i].episode,
      tick,
      seed: this.#lease!.seed,
    });
    this.#options.failed(report);
    this.#failures.count(report, this.agentSteps);
  }
}

/** The step at which instance `instanceId`'s first episode is cut, 0 for never (rule E7). */
export function cutStep(seed: Seed, instanceId: number, desyncSteps: number): number {
  if (desyncSteps === 0) return 0;
  const words = new Uint32Array(4);
  philox4x32(0, 0, instanceId, (DESYNC_STREAM << 24) >>> 0, seed.low, seed.high, words, 0);
  return 1 + Math.floor((words[0] >>> 8) * 2 ** -24 * desyncSteps);
}
