/** Games whose numbers name themselves, and a policy that needs no inference engine. */

import type { Lease, WelcomeWorker } from "@attract/schema";
import type { ObservationBatch } from "@attract/worker/game/observation-batch";
import type { Policy } from "@attract/worker/policy/policy";
import type { LoopOptions } from "@attract/worker/rollout/loop-options";
import { RolloutLoop } from "@attract/worker/rollout/rollout-loop";
import type { GameDefinition, StartContext, UpdateResult } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";

export interface CountingOptions {
  /** Steps after which an episode terminates; 0 = never. */
  terminateAt?: number;
  /** Steps after which the game truncates; 0 = never. */
  truncateAt?: number;
  ticksPerStep?: number;
  numActions?: number;
  maxSteps?: number;
  /** Called at each tick with instance number (in order of creation) and ticks since creation. */
  onTick?(instance: number, tick: number): UpdateResult | undefined;
}

/**
 * Observation = [1000 * instance + episode-independent step counter, steps since start]: instance counts creations, so that a
 * mixed-up row cannot pass. Reward = 1 + action per tick.
 */
export function countingGame(options: CountingOptions = {}): GameDefinition {
  const { terminateAt = 0, truncateAt = 0, ticksPerStep = 1, numActions = 2, maxSteps } = options;
  let created = 0;
  return defineGame({
    id: "Counting-v1",
    tickSeconds: 0.1,
    secondsPerStep: 0.1 * ticksPerStep,
    ...(maxSteps === undefined ? {} : { maxSeconds: 0.1 * ticksPerStep * maxSteps }),
    observation: box({ shape: [2] }),
    action: discrete(numActions),
    metrics: { steps: "last" },
    create: () => {
      const instance = created++;
      let ticks = 0;
      let sinceStart = 0;
      const result: { reward: number; terminated: boolean; truncated: boolean; info: { steps: number } } = {
        reward: 0,
        terminated: false,
        truncated: false,
        info: { steps: 0 },
      };
      const show = (out: StartContext<Float32Array>["out"]): void => {
        out.observation[0] = 1000 * instance + ticks;
        out.observation[1] = sinceStart;
      };
      return {
        start({ out }: StartContext<Float32Array>) {
          sinceStart = 0;
          show(out);
        },
        update(_: number, action: number, out: StartContext<Float32Array>["out"]) {
          ticks++;
          sinceStart++;
          const other = options.onTick?.(instance, ticks);
          show(out);
          if (other !== undefined) return other;
          result.reward = 1 + action;
          result.terminated = sinceStart === terminateAt * ticksPerStep && terminateAt > 0;
          result.truncated = sinceStart === truncateAt * ticksPerStep && truncateAt > 0;
          result.info.steps = sinceStart;
          return result;
        },
      } as never;
    },
  });
}

/** Uniform logits; value = observation[0] + `offset` + `perStep` * observation[1]. Counts its runs by number of rows. */
export class FakePolicy implements Policy {
  readonly policyId = "main";
  readonly policyVersion: number;
  readonly isRandom = false;
  readonly logits: Float32Array;
  readonly outputs: readonly Float32Array[];
  readonly values: Float32Array;
  readonly states = new Float32Array(0);
  readonly runs: number[] = [];
  offset = 0.5;
  /** What a step since the episode's start adds: other than 0 it tells a final observation from the next first one. */
  perStep = 0;
  readonly #done = Promise.resolve();

  constructor(rows: number, numActions = 2, policyVersion = 3) {
    this.policyVersion = policyVersion;
    this.logits = new Float32Array(rows * numActions);
    this.outputs = [this.logits];
    this.values = new Float32Array(rows);
  }

  run(batch: ObservationBatch, rows: number): Promise<void> {
    this.runs.push(rows);
    const { size } = batch.entries[0];
    const [array] = batch.arrays;
    for (let row = 0; row < rows; row++) {
      const steps = size > 1 ? array[row * size + 1] : 0;
      this.values[row] = array[row * size] + this.offset + this.perStep * steps;
    }
    return this.#done;
  }
}

export const SEED = { low: 11, high: 22 };

export function lease(fields: Partial<Lease> = {}): Lease {
  return {
    type: "lease",
    run_id: "run",
    lease_id: 1,
    purpose: "train",
    seats: [{ policy_id: "main", policy_version: 3, script: null, deterministic: false, learns: true }],
    game_sha256: "0".repeat(64),
    seed: SEED,
    num_segments: 1,
    episodes: [],
    max_episode_steps: null,
    desync_steps: 0,
    parameters: {},
    lesson_id: null,
    group_sizes: [],
    replays: [],
    record: "none",
    tells_terminal: false,
    ...fields,
  };
}

export type Seat = Pick<
  WelcomeWorker,
  "run_id" | "instance_ids" | "horizon" | "max_frame_bytes" | "state_size"
>;

export function seat(fields: Partial<Seat> = {}): Seat {
  const room = { max_frame_bytes: 256 * 1024, state_size: 0 };
  return { run_id: "run", instance_ids: [0, 1, 2], horizon: 4, ...room, ...fields };
}

/** A loop whose clock stands still unless told otherwise. */
export function createLoop(definition: GameDefinition, fields: Partial<LoopOptions> = {}): RolloutLoop {
  return new RolloutLoop({
    definition,
    seat: seat(),
    yieldTurn: () => Promise.resolve(),
    now: () => 0,
    emit: () => undefined,
    failed: () => undefined,
    gate: () => null,
    announce: null,
    ...fields,
  });
}
