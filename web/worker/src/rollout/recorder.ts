/** One segment of every slot of a worker, time-major in preallocated arrays (rules E1, E4, E8, E9, S2, S3). */

import { type EpisodeResult, OUTCOME_NUMBERS, STEP_NUMBERS } from "@attract/schema";
import type { BoxView } from "attract/contract";
import type { Instance } from "attract/instance";
import { allocateEntry, type ObservationEntry } from "attract/observation";
import type { ObservationSpace } from "attract/spaces";
import type { BatchSizes, ObservationBatch } from "../game/observation-batch.ts";
import { allocateNumbers, type NumberArrays } from "../game/step-numbers.ts";
import type { ActionSampler } from "../policy/action-sampler.ts";
import { FinalObservationStore } from "./final-observations.ts";

const OUTCOMES = Object.keys(OUTCOME_NUMBERS) as (keyof typeof OUTCOME_NUMBERS)[];

/** What a game instance tells of its last step. */
export type Outcome = Pick<Instance, "rewards" | "terminated" | "truncated" | "valid" | "executedTicks">;

/** What was decided for all slots: [slots, numComponents] and [slots]. */
export type Decisions = Pick<ActionSampler, "actions" | "logProbs">;

/** How an action lies in memory. */
export type ActionLayout = Pick<ActionSampler, "actions" | "numComponents" | "shape">;

export interface RecorderSizes extends BatchSizes {
  horizon: number;
  slotIds: readonly number[];
  action: ActionLayout;
}

/** Owned by one rollout loop; allocates nothing per step. Column c is slot `slotIds[c]`. */
export class SegmentRecorder {
  readonly horizon: number;
  readonly numSlots: number;
  readonly entries: readonly ObservationEntry[];
  /** Per entry, [horizon, slots, size]. */
  readonly observations: readonly BoxView[];
  /** [horizon, slots, numComponents]. */
  readonly actions: Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  readonly numComponents: number;
  /** Shape of one action on the wire. */
  readonly actionShape: readonly number[];
  readonly maskSize: number;
  /** [horizon, slots, maskSize], as they were when the actions were drawn. */
  readonly masks: Uint8Array<ArrayBuffer>;
  /** All [horizon, slots]. */
  readonly numbers: NumberArrays<typeof STEP_NUMBERS>;
  /** [slots] each. */
  readonly slotIds: Int32Array<ArrayBuffer>;
  readonly firstSteps: Int32Array<ArrayBuffer>;
  readonly bootstrapValues: Float32Array<ArrayBuffer>;
  readonly stateSize: number;
  /** [slots, stateSize], before the segment's first step (rule S3). */
  readonly states: Float32Array<ArrayBuffer>;
  readonly finals: FinalObservationStore;
  /** Episodes that ended in this segment, and the column that reports each. */
  readonly episodes: EpisodeResult[] = [];
  readonly columnOfEpisode: number[] = [];

  constructor(space: ObservationSpace, sizes: RecorderSizes) {
    const { horizon, slotIds, action, maskSize = 0, stateSize = 0 } = sizes;
    const numSlots = slotIds.length;
    const numSteps = horizon * numSlots;
    this.horizon = horizon;
    this.numSlots = numSlots;
    this.finals = new FinalObservationStore(space, numSlots, stateSize);
    this.entries = this.finals.entries;
    this.observations = this.entries.map((entry) => allocateEntry(entry, numSteps));
    this.numComponents = action.numComponents;
    this.actionShape = action.shape;
    const isReal = action.actions instanceof Float32Array;
    const numNumbers = numSteps * action.numComponents;
    this.actions = isReal ? new Float32Array(numNumbers) : new Int32Array(numNumbers);
    this.maskSize = maskSize;
    this.masks = new Uint8Array(numSteps * maskSize);
    this.numbers = allocateNumbers(STEP_NUMBERS, numSteps);
    this.slotIds = Int32Array.from(slotIds);
    this.firstSteps = new Int32Array(numSlots);
    this.bootstrapValues = new Float32Array(numSlots);
    this.stateSize = stateSize;
    this.states = new Float32Array(numSlots * stateSize);
  }

  /** Starts over; `firstStep` is every slot's own counter at the segment's first step. */
  begin(firstStep: number, batch: ObservationBatch): void {
    this.firstSteps.fill(firstStep);
    this.states.set(batch.states);
    this.finals.clear();
    this.episodes.length = 0;
    this.columnOfEpisode.length = 0;
  }

  /** Keeps what all slots see, and may do, before step `step`. */
  recordObservations(step: number, batch: ObservationBatch): void {
    for (let e = 0; e < this.observations.length; e++) {
      this.observations[e].set(batch.arrays[e], step * this.numSlots * this.entries[e].size);
    }
    this.masks.set(batch.masks, step * this.numSlots * this.maskSize);
  }

  /** What was decided for all slots, and their values: [slots]. */
  recordDecisions(step: number, decisions: Decisions, values: Float32Array): void {
    const { numSlots } = this;
    const { logProbs } = decisions;
    const { log_prob, value } = this.numbers;
    const first = step * numSlots;
    this.actions.set(decisions.actions, first * this.numComponents);
    value.set(values, first);
    for (let column = 0; column < numSlots; column++) log_prob[first + column] = logProbs[column];
  }

  /** What the step brought to agent `agent` of a game. */
  recordOutcome(step: number, column: number, outcome: Outcome, agent: number): void {
    const at = step * this.numSlots + column;
    const valid = outcome.valid[agent];
    const { numbers } = this;
    numbers.reward[at] = outcome.rewards[agent];
    numbers.terminated[at] = outcome.terminated[agent];
    numbers.truncated[at] = outcome.truncated[agent];
    numbers.valid[at] = valid;
    numbers.executed_ticks[at] = valid === 1 ? outcome.executedTicks : 0;
    // No action was drawn: what a game left in the mask of someone who does not play means nothing.
    if (valid === 0) this.masks.fill(1, at * this.maskSize, (at + 1) * this.maskSize);
  }

  /**
   * Keeps the observation before the reset, row `column` of the batch, while it still stands there (rule E2), and the state
   * after the step.
   */
  recordFinal(step: number, column: number, batch: ObservationBatch): void {
    this.finals.add(step, column, batch.arrays, column, batch.states);
  }

  recordEpisode(column: number, result: EpisodeResult): void {
    this.episodes.push(result);
    this.columnOfEpisode.push(column);
  }

  /**
   * Makes step `step` of `column` one that counts nowhere (S5): the game failed in it. The step before, if it is of the same
   * segment and episode, is truncated at the observation that the failed step began with, so that nothing is read across.
   * `states` are those before the failed step.
   */
  recordFailure(step: number, column: number, states: Float32Array): void {
    const at = step * this.numSlots + column;
    for (const name of OUTCOMES) this.numbers[name][at] = 0;
    const { terminated, truncated, valid } = this.numbers;
    if (step === 0) return;
    const before = at - this.numSlots;
    if (terminated[before] === 1 || truncated[before] === 1 || valid[before] === 0) return;
    truncated[before] = 1;
    this.finals.add(step - 1, column, this.observations, at, states);
  }

  /**
   * Sets `bootstrapValues` from the values of the observations after the last step; the finals' values must be known.
   * Rule E4: 0 after a terminated step, V(final observation) after a truncated one.
   */
  setBootstrapValues(values: Float32Array): void {
    const last = (this.horizon - 1) * this.numSlots;
    for (let c = 0; c < this.numSlots; c++) {
      this.bootstrapValues[c] = this.numbers.terminated[last + c] === 1 ? 0 : values[c];
    }
    const { finals } = this;
    for (let i = 0; i < finals.count; i++) {
      if (finals.steps[i] === this.horizon - 1) this.bootstrapValues[finals.columns[i]] = finals.values[i];
    }
  }
}
