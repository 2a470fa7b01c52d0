/** Games of several agents whose numbers name themselves, and a policy with a memory that counts. */

import type { ObservationBatch } from "@attract/worker/game/observation-batch";
import type { Policy } from "@attract/worker/policy/policy";
import type { Action, GameDefinition, GameOptions, UpdateResult } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";

export interface GroupOptions extends Partial<Pick<GameOptions, "action" | "actionMask" | "maxSeconds">> {
  numAgents?: number;
  /** What step `sinceStart` (from 1) of an episode brings beside observation and reward. */
  onStep?(instance: number, sinceStart: number): Partial<UpdateResult> | undefined;
  /** Told the actions of each step, copied. */
  acted?(instance: number, actions: (number | number[])[]): void;
}

/** Observation of agent a = [1000 * instance + 100 * a + steps since creation]; its reward is 1 + a + 10 * its first action. */
export function groupGame(options: GroupOptions = {}): GameDefinition {
  const { numAgents = 3, onStep, acted, ...rest } = options;
  let created = 0;
  return defineGame({
    id: "Group-v1",
    tickSeconds: 0.1,
    numAgents,
    observation: box({ shape: [1] }),
    action: discrete(2),
    ...rest,
    create: () => {
      const instance = created++;
      let ticks = 0;
      let sinceStart = 0;
      const seen = () => Array.from({ length: numAgents }, (_, a) => [1000 * instance + 100 * a + ticks]);
      return {
        start() {
          sinceStart = 0;
          return { observation: seen() };
        },
        update(_: number, actions: ArrayLike<Action>) {
          ticks++;
          sinceStart++;
          const plain = Array.from(actions, (action) =>
            typeof action === "number" ? action : Array.from(action),
          );
          acted?.(instance, plain);
          const reward = plain.map(
            (action, a) => 1 + a + 10 * (typeof action === "number" ? action : action[0]),
          );
          return { observation: seen(), reward, ...onStep?.(instance, sinceStart) };
        },
      } as never;
    },
  });
}

/** State = [steps remembered, minus that]; value = 10,000 * steps remembered + observation. Deterministic if asked for: action 0. */
export class CountingPolicy implements Policy {
  readonly isRandom = false;
  readonly outputs: readonly Float32Array[];
  readonly values: Float32Array;
  readonly states: Float32Array;
  /** Rows of each run. */
  readonly runs: number[] = [];
  readonly #done = Promise.resolve();

  constructor(
    rows: number,
    readonly policyId = "main",
    readonly policyVersion = 3,
    readonly stateSize = 2,
    numOutputs = 2,
  ) {
    this.outputs = [new Float32Array(rows * numOutputs)];
    this.values = new Float32Array(rows);
    this.states = new Float32Array(rows * stateSize);
  }

  run(batch: ObservationBatch, rows: number): Promise<void> {
    this.runs.push(rows);
    const { stateSize, states } = batch;
    const { size } = batch.entries[0];
    for (let row = 0; row < rows; row++) {
      const remembered = stateSize === 0 ? 0 : states[row * stateSize];
      this.values[row] = 10_000 * remembered + batch.arrays[0][row * size];
      if (stateSize === 0) continue;
      this.states[row * stateSize] = remembered + 1;
      this.states[row * stateSize + 1] = -remembered - 1;
    }
    return this.#done;
  }
}
