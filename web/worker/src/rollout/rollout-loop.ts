/** Plays a worker's training games as one batch under a lease and hands out finished blocks (rules T1-T4, E1-E9, S3, S4, C5). */

import {
  type EndReason,
  type EpisodeResult,
  type Lease,
  type ReplayOrder,
  type RolloutClose,
  tensorOf,
  type WelcomeWorker,
} from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { ParameterSampler } from "attract/parameters";
import { cutStep } from "../game/desync.ts";
import { episodeResult } from "../game/episode-result.ts";
import { FailureLimit, type FailureReport, isGameError, reportOf } from "../game/failures.ts";
import type { ObservationBatch } from "../game/observation-batch.ts";
import type { Policy } from "../policy/policy.ts";
import { type BlockFrame, BlockWriter } from "./block-writer.ts";
import { SegmentRecorder } from "./recorder.ts";
import { Seats } from "./seats.ts";
import { YIELD_MS } from "./yielding.ts";

/** Instances stepped between two looks at the clock at first; then up to so many, fewer where they take longer than `CHUNK_MS`. */
const FIRST_CHUNK = 16;
const LARGEST_CHUNK = 64;
const CHUNK_MS = 0.5;

export interface LoopOptions {
  definition: GameDefinition;
  seat: Pick<WelcomeWorker, "run_id" | "instance_ids" | "horizon" | "max_frame_bytes" | "state_size">;
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
  /** Plays what somebody played before, as the one segment of the one instance of the seat (rule C10); default: not. */
  script?: Script;
}

/** Actions that were taken before. */
export interface Script {
  order: ReplayOrder;
  /** [num_before + horizon, agents, numComponents] of `order`. */
  actions: ArrayLike<number>;
  /** What the block is numbered as, in place of 0. */
  segmentIndex: number;
  firstBlock: number;
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
  readonly #instances: Instance[] = [];
  readonly #instanceIds: readonly number[];
  readonly #numAgents: number;
  readonly #seats: Seats;
  readonly #recorder: SegmentRecorder;
  readonly #writer: BlockWriter;
  /** Of the current lease: its distributions take effect at each next start (C6). */
  #parameters = new ParameterSampler({});
  /** Per instance, the lesson under which its episode was started (C6). */
  readonly #lessons: (string | null)[] = [];
  readonly #failures = new FailureLimit();
  readonly #script: Script | null;
  /** Of the script: its next step. */
  #scripted = 0;
  /** Step of the first episode at which it is cut; 0 = not. */
  readonly #cutSteps: Int32Array;
  #lease: Lease | null = null;
  /** The first agent whose segments are sent: results of episodes travel with them. */
  #tellingAgent = 0;
  /** Every slot's own step counter (S2). */
  #step = 0;
  #isVoid = false;
  #chunk = FIRST_CHUNK;
  #lastYield = 0;
  /** When the games' last step was done: a look at the clock costs as much as a game's tick. */
  #gamesEnded = 0;
  #lastEnd: number | null = null;
  #inferenceMs = 0;
  #gameMs = 0;

  constructor(options: LoopOptions) {
    const { definition, seat } = options;
    const { instance_ids: instanceIds, state_size: stateSize } = seat;
    this.#options = options;
    this.announce = options.announce;
    this.#script = options.script ?? null;
    this.#instanceIds = instanceIds;
    this.#seats = new Seats(definition, instanceIds.length, stateSize);
    const { batch, numAgents, sampler } = this.#seats;
    this.batch = batch;
    this.#numAgents = numAgents;
    this.#recorder = new SegmentRecorder(definition.observation, {
      horizon: seat.horizon,
      slotIds: instanceIds.flatMap((id) => Array.from({ length: numAgents }, (_, a) => id * numAgents + a)),
      action: sampler,
      maskSize: batch.maskSize,
      stateSize,
    });
    this.#writer = new BlockWriter(this.#recorder, batch, seat.max_frame_bytes, seat.run_id);
    this.#cutSteps = new Int32Array(instanceIds.length);
  }

  /** Drops what is left of this lease; its games stay where they are (rule E5). */
  voidLease(leaseId: number): void {
    if (this.#lease?.lease_id === leaseId) this.#isVoid = true;
  }

  /**
   * Plays `lease` to its end and returns its close, or null if it was voided. Purpose `train` or `record`.
   *
   * @param policies one per seat, the same object for seats that share one; or one for all.
   * @throws FatalGameError when the game fails again and again; Error for seats that do not fit the game; whatever a policy throws.
   */
  async play(lease: Lease, ...policies: Policy[]): Promise<RolloutClose | null> {
    this.#seats.assign(lease, policies);
    const sendings = this.#sendingsOf(lease);
    const started = this.#begin(lease);
    // Many copies of a large game may take seconds to make: the worker must be heard meanwhile.
    while (this.#instances.length < this.#instanceIds.length) {
      this.#startEpisode(this.#instances.length, this.#script?.order.episode ?? 0);
      if (this.#options.now() - this.#lastYield >= YIELD_MS) await this.#yield();
    }
    const { controllers, values } = this.#seats;
    const { horizon, finals } = this.#recorder;
    let numBlocks = this.#script?.firstBlock ?? 0;
    await controllers.run();
    if (this.#script !== null) await this.#playBefore(this.#script);
    for (let segment = 0; segment < lease.num_segments && !this.#isVoid; segment++) {
      this.#recorder.begin(this.#step, this.batch);
      for (let t = 0; t < horizon && !this.#isVoid; t++) {
        if (t > 0) {
          await controllers.run();
          if (this.#isTurnDue()) await this.#yield();
        }
        this.#decide(t);
        for (let next = this.#stepGames(t, 0); next >= 0; next = this.#stepGames(t, next))
          await this.#yield();
        this.#step++;
        this.leaseSteps++;
      }
      if (this.#isVoid) break;
      if (finals.count > 0) {
        for (let g = 0; g < controllers.groups.length; g++)
          await finals.evaluate(controllers.groups[g].policy, g, controllers.owners);
      }
      // These values are the segment's bootstrap values and, with the outputs, the next segment's first decision.
      await controllers.run();
      if (this.#isTurnDue()) await this.#yield();
      controllers.readValues(values);
      this.#recorder.setBootstrapValues(values);
      for (const { columns, policy } of sendings) {
        const identity = {
          runId: lease.run_id,
          leaseId: lease.lease_id,
          segmentIndex: segment + (this.#script?.segmentIndex ?? 0),
          policyId: policy.policyId,
          policyVersion: policy.policyVersion,
        };
        numBlocks = this.#writer.write(identity, numBlocks, this.#options.emit, columns);
      }
      const gate = this.#options.gate();
      if (gate !== null) await gate;
    }
    return this.#end(lease, numBlocks, started, sendings);
  }

  /** Steps the one game of `script` to where its segment begins; what comes of it is not kept. */
  async #playBefore({ order }: Script): Promise<void> {
    // The episodes that begin from now on do so under the terms of the lease that the segment was played for.
    this.#parameters = new ParameterSampler(order.terms.parameters);
    this.#lease = { ...this.#lease!, lesson_id: order.terms.lesson_id };
    this.#recorder.begin(0, this.batch);
    while (this.#scripted < order.num_before && !this.#isVoid) {
      this.#decide(0);
      this.#stepGames(0, 0);
      this.leaseSteps++;
      if (this.#isTurnDue()) await this.#yield();
    }
    this.#step = order.first_step;
  }

  /** What is sent under each policy: the columns of its seats that learn; in a warm-up all of them. */
  #sendingsOf(lease: Lease): Sending[] {
    const isSent = lease.seats.map((seat) => seat.learns || lease.purpose === "warmup");
    this.#tellingAgent = Math.max(0, isSent.indexOf(true));
    return this.#seats.controllers.groups
      .map(({ policy, slots }) => ({
        policy,
        columns: slots.filter((slot) => isSent[slot % this.#numAgents]),
      }))
      .filter(({ columns }) => columns.length > 0);
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
    return started;
  }

  #end(lease: Lease, numBlocks: number, started: number, sendings: readonly Sending[]): RolloutClose | null {
    const ended = this.#options.now();
    const waited = this.#lastEnd === null ? 0 : started - this.#lastEnd;
    this.#lastEnd = ended;
    this.#lease = null;
    if (lease.purpose === "warmup") {
      // The warm-up is not part of training: its games begin again with episode 0 at the next lease.
      this.#instances.length = 0;
      this.#step = 0;
      this.batch.states.fill(0);
    }
    if (this.#isVoid) return null;
    const { slotIds, bootstrapValues } = this.#recorder;
    const columns = columnsOf(sendings);
    const sentSlots = new Int32Array(columns.length);
    const sentValues = new Float32Array(columns.length);
    for (let i = 0; i < columns.length; i++) {
      sentSlots[i] = slotIds[columns[i]];
      sentValues[i] = bootstrapValues[columns[i]];
    }
    return {
      type: "rollout_close",
      run_id: lease.run_id,
      lease_id: lease.lease_id,
      num_blocks: numBlocks,
      slot_id: tensorOf(sentSlots, [columns.length]),
      bootstrap_value: tensorOf(sentValues, [columns.length]),
      play_seconds: (ended - started) / 1000,
      inference_seconds: this.#inferenceMs / 1000,
      game_seconds: this.#gameMs / 1000,
      wait_seconds: waited / 1000,
    };
  }

  /** Counts the time since the games' last step as the policy's; whether the event loop must have its turn now. */
  #isTurnDue(): boolean {
    const now = this.#options.now();
    this.#inferenceMs += now - this.#gamesEnded;
    return now - this.#lastYield >= YIELD_MS;
  }

  async #yield(): Promise<void> {
    await this.#options.yieldTurn();
    this.#lastYield = this.#options.now();
  }

  #decide(t: number): void {
    const seats = this.#seats;
    this.#recorder.recordObservations(t, this.batch);
    if (this.#script === null) seats.decide(this.#instances);
    else seats.repeat(this.#script.actions, this.#scripted++, this.#instances[0]);
    this.#recorder.recordDecisions(t, seats.sampler, seats.values);
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
      let agentSteps = 0;
      for (let i = start; i < end; i++) agentSteps += this.#stepGame(t, i);
      this.agentSteps += agentSteps;
      const after = this.#options.now();
      this.#gameMs += after - before;
      this.#chunk =
        after - before > CHUNK_MS ? (this.#chunk + 1) >> 1 : Math.min(LARGEST_CHUNK, 2 * this.#chunk);
      if (end < numInstances && after - this.#lastYield >= YIELD_MS) return end;
      before = after;
      start = end;
    }
    this.#gamesEnded = before;
    return -1;
  }

  /** Returns how many agents took part. */
  #stepGame(t: number, i: number): number {
    const game = this.#instances[i];
    this.announce?.(game.instanceId);
    try {
      game.step(this.#seats.action(i) as never);
    } catch (error) {
      this.#failed(t, i, error);
      return 0;
    }
    const isCut = !game.episodeOver && game.episode === 0 && game.episodeSteps === this.#cutSteps[i];
    let agentSteps = 0;
    for (let agent = 0; agent < this.#numAgents; agent++) agentSteps += this.#takeIn(t, i, agent, isCut);
    if (!isCut && !game.episodeOver) return agentSteps;
    const reason = isCut ? "cut" : (game.endReason as EndReason);
    this.#tellEpisode(i, reason, t);
    this.#startEpisode(i, game.episode + 1);
    return agentSteps;
  }

  /** What the step brought to one agent; returns 1 if it took part. */
  #takeIn(t: number, i: number, agent: number, isCut: boolean): number {
    const game = this.#instances[i];
    const slot = i * this.#numAgents + agent;
    const terminated = game.terminated[agent];
    const isPlaying = game.valid[agent] === 1 && terminated === 0;
    const truncated = isCut && isPlaying ? 1 : game.truncated[agent];
    this.#recorder.recordOutcome(t, slot, game, agent, truncated);
    if (game.valid[agent] === 0) return 0;
    this.#seats.advance(slot);
    if (truncated === 1) this.#recorder.recordFinal(t, slot, this.batch);
    if (terminated === 1 || truncated === 1) this.#seats.forget(slot);
    return 1;
  }

  /** The game broke in this step: the step counts for nobody, and another copy goes on. */
  #failed(t: number, i: number, error: unknown): void {
    const game = this.#instances[i];
    this.#fail(i, error, game.episodeTicks + 1);
    const first = i * this.#numAgents;
    for (let slot = first; slot < first + this.#numAgents; slot++) {
      this.#recorder.recordFailure(t, slot, this.batch.states);
      this.#seats.forget(slot);
    }
    // Its last good step, if that is of this segment.
    if (t > 0 && game.episodeSteps > 0) this.#tellEpisode(i, "cut", t - 1);
    this.#replaceGame(i);
  }

  /** Its result travels in the block of its first agent whose segments are sent. */
  #tellEpisode(i: number, reason: EpisodeResult["end_reason"], t: number): void {
    const result = episodeResult(this.#instances[i], reason, t, this.#lessons[i]);
    this.#recorder.recordEpisode(i * this.#numAgents + this.#tellingAgent, result);
  }

  /** Starts `episode` of instance `i`, or the first later one that starts at all. */
  #startEpisode(i: number, episode: number): void {
    const { seed } = this.#lease!;
    const instanceId = this.#instanceIds[i];
    for (let next = episode; ; next++) {
      try {
        this.announce?.(instanceId);
        this.#instances[i] ??= createInstance(this.#options.definition, this.#seats.memory(i));
        const game = this.#instances[i];
        game.setStream(seed.low, seed.high, instanceId);
        game.start(next, this.#parameters.sample(seed.low, seed.high, next, instanceId));
        this.#lessons[i] = this.#lease!.lesson_id;
        this.#seats.setEpisode(i, seed, instanceId, next);
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
      this.#instances[i] = createInstance(this.#options.definition, this.#seats.memory(i));
    } catch (error) {
      this.#fail(i, error, 0, episode);
    }
    this.#startEpisode(i, episode);
  }

  #fail(i: number, error: unknown, tick: number, episode?: number): void {
    if (!isGameError(error)) throw error;
    const place = {
      lease_id: this.#lease!.lease_id,
      slot_id: this.#instanceIds[i] * this.#numAgents,
      instance_id: this.#instanceIds[i],
      episode: episode ?? this.#instances[i].episode,
      tick,
      seed: this.#lease!.seed,
    };
    const { definition } = this.#options;
    const instance: Instance | undefined = this.#instances[i];
    const action = tick > 0 ? this.#seats.action(i) : null;
    const report = reportOf(error, place, undefined, { definition, instance, action });
    this.#options.failed(report);
    this.#failures.count(report, this.agentSteps);
  }
}

/** Of all policies together, in ascending order. */
function columnsOf(sendings: readonly Sending[]): Int32Array {
  if (sendings.length === 1) return sendings[0].columns;
  return Int32Array.from(sendings.flatMap(({ columns }) => [...columns])).sort();
}

/** The columns that are sent under one policy. */
interface Sending {
  policy: Policy;
  /** In ascending order. */
  columns: Int32Array;
}
