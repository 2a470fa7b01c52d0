/** The games of one group that a step server steps together, and what their last step brought (E1-E3, E7, E9, S5). */

import {
  checkTensor,
  type EndReason,
  type EpisodeResult,
  float32View,
  int32View,
  type Lease,
  type Observe,
  type Tensor,
  tensorOf,
  type WireArray,
} from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import type { ParameterSampler } from "attract/parameters";
import { actionMaskSize } from "attract/spaces";
import { cutStep } from "../game/desync.ts";
import { episodeResult } from "../game/episode-result.ts";
import { entryKey, ObservationBatch } from "../game/observation-batch.ts";
import { GameActions } from "./game-actions.ts";

/** What a group tells its owner. */
export interface StepGroupOwner {
  announce: ((instanceId: number) => void) | null;
  /** Reports a failed game; throws the error itself unless it is a game's. */
  fail(error: unknown, lease: Lease, place: FailedTurn): void;
}

/** Which game failed, and at what. */
export interface FailedTurn {
  instanceId: number;
  episode: number;
  tick: number;
  instance: Instance | undefined;
  action: unknown;
}

/** Owned by one step server; its games live across leases (rule E5). Column c is agent c mod agents of game c div agents. */
export class StepGroup {
  readonly numSlots: number;
  readonly #owner: StepGroupOwner;
  readonly #definition: GameDefinition;
  readonly #ids: readonly number[];
  readonly #numAgents: number;
  readonly #batch: ObservationBatch;
  readonly #finals: ObservationBatch;
  readonly #actions: GameActions;
  readonly #instances: Instance[] = [];
  readonly #cutSteps: Int32Array;
  readonly #rewards: Float32Array<ArrayBuffer>;
  readonly #terminated: Uint8Array<ArrayBuffer>;
  readonly #truncated: Uint8Array<ArrayBuffer>;
  readonly #valid: Uint8Array<ArrayBuffer>;
  readonly #active: Uint8Array<ArrayBuffer>;
  readonly #executedTicks: Uint16Array<ArrayBuffer>;
  readonly #episodeNumbers: Int32Array<ArrayBuffer>;
  readonly #episodeSteps: Int32Array<ArrayBuffer>;
  /** One agent's actions are handed on as they are, several agents' in here. */
  readonly #joint: Action[];
  #finalColumns: number[] = [];
  #episodes: EpisodeResult[] = [];
  #lease!: Lease;
  #parameters!: ParameterSampler;
  /** Per instance, the lesson under which its episode was started (C6). */
  readonly #lessons: (string | null)[] = [];
  /** Every slot's own step counter (S2). */
  #step = 0;

  constructor(owner: StepGroupOwner, definition: GameDefinition, ids: readonly number[]) {
    const numAgents = definition.numAgents ?? 1;
    const numSlots = ids.length * numAgents;
    const maskSize = definition.actionMask === true ? actionMaskSize(definition.action) : 0;
    this.#owner = owner;
    this.#definition = definition;
    this.#ids = ids;
    this.#numAgents = numAgents;
    this.numSlots = numSlots;
    this.#batch = new ObservationBatch(definition.observation, numSlots, { maskSize });
    this.#finals = new ObservationBatch(definition.observation, numSlots);
    this.#actions = new GameActions(definition.action, numSlots);
    this.#joint = new Array<Action>(numAgents).fill(0);
    this.#cutSteps = new Int32Array(ids.length);
    this.#rewards = new Float32Array(numSlots);
    this.#terminated = new Uint8Array(numSlots);
    this.#truncated = new Uint8Array(numSlots);
    this.#valid = new Uint8Array(numSlots);
    this.#active = new Uint8Array(numSlots);
    this.#executedTicks = new Uint16Array(numSlots);
    this.#episodeNumbers = new Int32Array(ids.length);
    this.#episodeSteps = new Int32Array(ids.length);
  }

  /** The lease under which what follows is played; its games are started with the first one. */
  prepare(lease: Lease, parameters: ParameterSampler): void {
    if (this.#lease?.lease_id === lease.lease_id) return;
    this.#lease = lease;
    this.#parameters = parameters;
    for (let i = 0; i < this.#ids.length; i++) {
      this.#cutSteps[i] = cutStep(lease.seed, this.#ids[i], lease.desync_steps);
    }
    if (this.#instances.length === 0) for (let i = 0; i < this.#ids.length; i++) this.#start(i, 0);
  }

  takeActions(tensor: Tensor): void {
    const { wire, shape } = this.#actions;
    const isBox = wire instanceof Float32Array;
    checkTensor(tensor, "act.action", isBox ? "float32" : "int32", [this.numSlots, ...shape]);
    wire.set(isBox ? float32View(tensor) : int32View(tensor));
  }

  step(): void {
    this.#finalColumns = [];
    this.#episodes = [];
    for (let i = 0; i < this.#ids.length; i++) this.#stepGame(i);
    this.#step++;
  }

  seen(): Pick<Observe, "step" | "observation" | "action_mask" | "active" | "episode" | "episode_step"> {
    const { maskSize, masks } = this.#batch;
    return {
      step: this.#step,
      observation: observationOf(this.#batch, this.numSlots),
      action_mask: maskSize > 0 ? tensorOf(masks, [this.numSlots, maskSize]) : null,
      active: tensorOf(this.#active, [this.numSlots]),
      episode: tensorOf(this.#episodeNumbers, [this.#ids.length]),
      episode_step: tensorOf(this.#episodeSteps, [this.#ids.length]),
    };
  }

  outcome(): Omit<NonNullable<Observe["outcome"]>, "step_seconds"> {
    const slots = (array: WireArray): Tensor => tensorOf(array, [this.numSlots]);
    const n = this.#finalColumns.length;
    return {
      reward: slots(this.#rewards),
      terminated: slots(this.#terminated),
      truncated: slots(this.#truncated),
      valid: slots(this.#valid),
      executed_ticks: slots(this.#executedTicks),
      final_column: n === 0 ? null : tensorOf(Int32Array.from(this.#finalColumns), [n]),
      final_observation: n === 0 ? {} : observationOf(this.#finals, n),
      episodes: this.#episodes,
    };
  }

  #stepGame(i: number): void {
    const game = this.#instances[i];
    const first = i * this.#numAgents;
    this.#owner.announce?.(game.instanceId);
    try {
      game.step(this.#actionOf(first));
    } catch (error) {
      this.#owner.fail(error, this.#lease, {
        instanceId: game.instanceId,
        episode: game.episode,
        tick: game.episodeTicks + 1,
        instance: game,
        action: this.#actionOf(first),
      });
      this.#recordFailure(first);
      if (game.episodeSteps > 0) this.#episodes.push(episodeResult(game, "cut", 0, this.#lessons[i]));
      delete this.#instances[i];
      this.#start(i, game.episode + 1);
      return;
    }
    const isCut = !game.episodeOver && game.episode === 0 && game.episodeSteps === this.#cutSteps[i];
    for (let agent = 0; agent < this.#numAgents; agent++)
      this.#recordOutcome(first + agent, game, agent, isCut);
    if (isCut || game.episodeOver) {
      this.#episodes.push(
        episodeResult(game, isCut ? "cut" : (game.endReason as EndReason), 0, this.#lessons[i]),
      );
      this.#start(i, game.episode + 1);
    } else {
      this.#episodeSteps[i] = game.episodeSteps;
    }
  }

  #actionOf(first: number): Action | ArrayLike<Action> {
    if (this.#numAgents === 1) return this.#actions.of(first);
    for (let agent = 0; agent < this.#numAgents; agent++)
      this.#joint[agent] = this.#actions.of(first + agent);
    return this.#joint;
  }

  #recordOutcome(slot: number, game: Instance, agent: number, isCut: boolean): void {
    const isPlaying = game.valid[agent] === 1 && game.terminated[agent] === 0;
    const truncated = isCut && isPlaying ? 1 : game.truncated[agent];
    this.#rewards[slot] = game.valid[agent] === 1 ? game.rewards[agent] : 0;
    this.#terminated[slot] = game.terminated[agent];
    this.#truncated[slot] = truncated;
    this.#valid[slot] = game.valid[agent];
    this.#executedTicks[slot] = game.valid[agent] === 1 ? game.executedTicks : 0;
    this.#active[slot] = game.active[agent];
    if (truncated === 1) {
      this.#finals.copyRow(this.#finalColumns.length, this.#batch, slot);
      this.#finalColumns.push(slot);
    }
  }

  /** The step of the game's slots counts nowhere (S5). */
  #recordFailure(first: number): void {
    for (let slot = first; slot < first + this.#numAgents; slot++) {
      this.#rewards[slot] = 0;
      this.#terminated[slot] = 0;
      this.#truncated[slot] = 0;
      this.#valid[slot] = 0;
      this.#executedTicks[slot] = 0;
    }
  }

  /** Starts `episode` of game `i`, or the first later one that starts at all. */
  #start(i: number, episode: number): void {
    const { low, high } = this.#lease.seed;
    const instanceId = this.#ids[i];
    const first = i * this.#numAgents;
    for (let next = episode; ; next++) {
      try {
        this.#owner.announce?.(instanceId);
        this.#instances[i] ??= createInstance(this.#definition, {
          views: this.#batch.views.slice(first, first + this.#numAgents),
          masks: this.#batch.maskViews.slice(first, first + this.#numAgents),
        });
        const game = this.#instances[i];
        game.setStream(low, high, instanceId);
        game.start(next, this.#parameters.sample(low, high, next, instanceId));
        this.#lessons[i] = this.#lease.lesson_id;
        this.#episodeNumbers[i] = next;
        this.#episodeSteps[i] = 0;
        for (let agent = 0; agent < this.#numAgents; agent++)
          this.#active[first + agent] = game.active[agent];
        return;
      } catch (error) {
        const instance: Instance | undefined = this.#instances[i];
        this.#owner.fail(error, this.#lease, { instanceId, episode: next, tick: 0, instance, action: null });
      }
    }
  }
}

function observationOf(batch: ObservationBatch, rows: number): Record<string, Tensor> {
  const observation: Record<string, Tensor> = {};
  for (let e = 0; e < batch.entries.length; e++) {
    const { size, shape } = batch.entries[e];
    const array = batch.arrays[e].subarray(0, rows * size) as WireArray;
    observation[entryKey(batch.entries[e])] = tensorOf(array, [rows, ...shape]);
  }
  return observation;
}
