/** The games of one group that a step server steps together, and what their last step brought (E1-E3, E7, E9, S5). */

import {
  checkTensor,
  type EpisodeResult,
  float32View,
  int32View,
  type Lease,
  type Observe,
  OUTCOME_NUMBERS,
  type Tensor,
  tensorOf,
  type WireArray,
} from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { actionMaskSize } from "attract/spaces";
import type { FailureLimit } from "../game/failures.ts";
import { GameRunner } from "../game/game-runner.ts";
import { entryKey, ObservationBatch } from "../game/observation-batch.ts";
import { allocateNumbers, clearNumbers, type NumberArrays, numberTensors } from "../game/step-numbers.ts";
import type { ActionSampler } from "../policy/action-sampler.ts";
import { GameActions } from "../policy/game-actions.ts";
import { createSampler } from "../policy/sampler.ts";

/** Owned by one step server; its games live across leases (rule E5). Column c is agent c mod agents of game c div agents. */
export class StepGroup {
  readonly numSlots: number;
  readonly #numGames: number;
  readonly #numAgents: number;
  readonly #batch: ObservationBatch;
  readonly #finals: ObservationBatch;
  /** Holds the actions that came; nothing is drawn here. */
  readonly #sampler: ActionSampler;
  readonly #actions: GameActions;
  readonly #runner: GameRunner;
  readonly #numbers: NumberArrays<typeof OUTCOME_NUMBERS>;
  readonly #active: Uint8Array<ArrayBuffer>;
  readonly #episodeNumbers: Int32Array<ArrayBuffer>;
  readonly #episodeSteps: Int32Array<ArrayBuffer>;
  #finalColumns: number[] = [];
  #episodes: EpisodeResult[] = [];
  #leaseId: number | null = null;
  #tellsTerminal = false;
  /** Every slot's own step counter (S2). */
  #step = 0;

  constructor(definition: GameDefinition, ids: readonly number[], failures: FailureLimit) {
    const numAgents = definition.numAgents ?? 1;
    const numSlots = ids.length * numAgents;
    const maskSize = definition.actionMask === true ? actionMaskSize(definition.action) : 0;
    this.#numGames = ids.length;
    this.#numAgents = numAgents;
    this.numSlots = numSlots;
    this.#batch = new ObservationBatch(definition.observation, numSlots, { maskSize });
    this.#finals = new ObservationBatch(definition.observation, numSlots);
    this.#sampler = createSampler(definition.action, numSlots);
    this.#actions = new GameActions(this.#sampler, numAgents);
    const memory = (i: number) => this.#batch.memory(i * numAgents, numAgents);
    const sampler = this.#sampler;
    this.#runner = new GameRunner({ definition, instanceIds: ids, memory, sampler, failures });
    this.#numbers = allocateNumbers(OUTCOME_NUMBERS, numSlots);
    this.#active = new Uint8Array(numSlots);
    this.#episodeNumbers = new Int32Array(ids.length);
    this.#episodeSteps = new Int32Array(ids.length);
  }

  /** See `StepServerOptions`. */
  set announce(announce: GameRunner["announce"]) {
    this.#runner.announce = announce;
  }

  /** The lease under which what follows is played; its games are started with the first one. */
  prepare(lease: Lease): void {
    if (this.#leaseId === lease.lease_id) return;
    const isFirst = this.#leaseId === null;
    this.#leaseId = lease.lease_id;
    this.#tellsTerminal = lease.tells_terminal;
    this.#runner.open(lease);
    if (!isFirst) return;
    for (let i = 0; i < this.#numGames; i++) {
      this.#runner.start(i, 0);
      this.#noteStart(i);
    }
  }

  takeActions(tensor: Tensor): void {
    const { actions, shape } = this.#sampler;
    const isReal = actions instanceof Float32Array;
    checkTensor(tensor, "act.action", isReal ? "float32" : "int32", [this.numSlots, ...shape]);
    const given = isReal ? float32View(tensor) : int32View(tensor);
    for (let slot = 0; slot < this.numSlots; slot++) this.#sampler.give(given, slot, slot);
  }

  step(): void {
    this.#finalColumns = [];
    this.#episodes = [];
    for (let i = 0; i < this.#numGames; i++) this.#stepGame(i);
    this.#step++;
  }

  seen(): Pick<Observe, "step" | "observation" | "action_mask" | "active" | "episode" | "episode_step"> {
    const { maskSize, masks } = this.#batch;
    return {
      step: this.#step,
      observation: observationOf(this.#batch, this.numSlots),
      action_mask: maskSize > 0 ? tensorOf(masks, [this.numSlots, maskSize]) : null,
      active: tensorOf(this.#active, [this.numSlots]),
      episode: tensorOf(this.#episodeNumbers, [this.#numGames]),
      episode_step: tensorOf(this.#episodeSteps, [this.#numGames]),
    };
  }

  outcome(): Omit<NonNullable<Observe["outcome"]>, "step_seconds"> {
    const slots = (array: WireArray): Tensor => tensorOf(array, [this.numSlots]);
    const n = this.#finalColumns.length;
    return {
      ...numberTensors(this.#numbers, slots),
      final_column: n === 0 ? null : tensorOf(Int32Array.from(this.#finalColumns), [n]),
      final_observation: n === 0 ? {} : observationOf(this.#finals, n),
      episodes: this.#episodes,
    };
  }

  #stepGame(i: number): void {
    const game = this.#runner.games[i]!;
    const first = i * this.#numAgents;
    const ending = this.#runner.step(i, this.#actions.of(i));
    if (ending === "failed") this.#recordFailure(first);
    else
      for (let agent = 0; agent < this.#numAgents; agent++) this.#recordOutcome(first + agent, game, agent);
    if (ending === null) {
      this.#episodeSteps[i] = game.episodeSteps;
      return;
    }
    // An episode that failed in its first step has nothing to report.
    if (ending !== "failed" || game.episodeSteps > 0) this.#episodes.push(this.#runner.result(i, ending, 0));
    this.#runner.startNext(i, ending);
    this.#noteStart(i);
  }

  #recordOutcome(slot: number, game: Instance, agent: number): void {
    const numbers = this.#numbers;
    const valid = game.valid[agent];
    numbers.reward[slot] = valid === 1 ? game.rewards[agent] : 0;
    numbers.terminated[slot] = game.terminated[agent];
    numbers.truncated[slot] = game.truncated[agent];
    numbers.valid[slot] = valid;
    numbers.executed_ticks[slot] = valid === 1 ? game.executedTicks : 0;
    this.#active[slot] = game.active[agent];
    if (game.truncated[agent] === 1 || (this.#tellsTerminal && game.terminated[agent] === 1)) {
      this.#finals.copyRow(this.#finalColumns.length, this.#batch, slot);
      this.#finalColumns.push(slot);
    }
  }

  /** The step of the game's slots counts nowhere (S5). */
  #recordFailure(first: number): void {
    for (let slot = first; slot < first + this.#numAgents; slot++) clearNumbers(this.#numbers, slot);
  }

  /** An episode of game `i` has begun. */
  #noteStart(i: number): void {
    const game = this.#runner.games[i]!;
    this.#episodeNumbers[i] = game.episode;
    this.#episodeSteps[i] = 0;
    this.#active.set(game.active, i * this.#numAgents);
  }
}

export function observationOf(batch: ObservationBatch, rows: number): Record<string, Tensor> {
  const observation: Record<string, Tensor> = {};
  for (let e = 0; e < batch.entries.length; e++) {
    const { size, shape } = batch.entries[e];
    const array = batch.arrays[e].subarray(0, rows * size) as WireArray;
    observation[entryKey(batch.entries[e])] = tensorOf(array, [rows, ...shape]);
  }
  return observation;
}
