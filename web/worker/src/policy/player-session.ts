/** A policy version played by the small player that ships with a policy: script, in place of ONNX Runtime's megabytes. */

import { AgentError } from "@attract/play/errors";
import { Network } from "@attract/play/network";
import { readOnnx } from "@attract/play/onnx-file";
import type { Numbers } from "@attract/play/tensor";
import { observationEntries } from "attract/observation";
import type { ObservationBatch } from "../game/observation-batch.ts";
import type { ActionSampler } from "./action-sampler.ts";
import type { ModelPolicy } from "./policy.ts";
import type { PolicyGame, PolicySessionOptions } from "./policy-session.ts";
import { createSampler } from "./sampler.ts";

/**
 * The most multiplications of weights in one decision: of a game that is watched, about a millisecond; of a worker, some
 * 20 microseconds. ONNX Runtime, which uses SIMD, is faster for larger networks.
 */
export const MAX_WORK = { watch: 1_000_000, rollout: 32_000 } as const;

/** One input of the network, and where its numbers come from. */
interface Feed {
  readonly to: Numbers;
  /** Index of the entry of the observation. */
  readonly entry: number;
}

/**
 * As `PolicySession`, row by row. Its outputs are those of the exported graph, computed in 64 bits and kept in 32. A mask is not
 * given to the graph: its `action` alone would depend on it, which is not used here.
 */
export class PlayerSession implements ModelPolicy {
  readonly policyId: string;
  readonly policyVersion: number;
  readonly isRandom = false;
  readonly stateSize: number;
  readonly outputs: Float32Array[];
  values: Float32Array;
  states: Float32Array;
  readonly #network: Network;
  readonly #feeds: readonly Feed[];
  readonly #stateIn: Numbers | undefined;
  readonly #outputs: readonly Numbers[];
  readonly #value: Numbers;
  readonly #stateOut: Numbers | undefined;
  readonly #done = Promise.resolve();
  #maxRows: number;

  constructor(network: Network, outputNames: readonly string[], options: PolicySessionOptions) {
    this.#network = network;
    const names = [...network.inputs.keys()].filter((name) => name.startsWith("obs"));
    this.#feeds = names.map((name) => ({
      to: network.inputs.get(name) as Numbers,
      entry: name === "obs" ? 0 : Number(name.slice("obs_".length)),
    }));
    this.#stateIn = network.inputs.get("state_ins");
    this.#outputs = outputNames.map((name) => network.outputs.get(name) as Numbers);
    this.#value = network.outputs.get("value") as Numbers;
    this.#stateOut = network.outputs.get("state_outs");
    this.stateSize = this.#stateIn?.length ?? 0;
    this.policyId = options.policyId ?? "main";
    this.policyVersion = options.policyVersion ?? 0;
    this.#maxRows = options.maxBatch;
    this.outputs = this.#outputs.map((output) => new Float32Array(output.length * options.maxBatch));
    this.values = new Float32Array(options.maxBatch);
    this.states = new Float32Array(this.stateSize * options.maxBatch);
  }

  run(batch: ObservationBatch, rows: number): Promise<void> {
    if (rows > this.#maxRows) this.#grow(rows);
    const { stateSize } = this;
    for (let row = 0; row < rows; row++) {
      for (let f = 0; f < this.#feeds.length; f++) {
        const { to, entry } = this.#feeds[f];
        copy(batch.arrays[entry], row * to.length, to, 0, to.length);
      }
      if (this.#stateIn !== undefined) copy(batch.states, row * stateSize, this.#stateIn, 0, stateSize);
      this.#network.run();
      for (let o = 0; o < this.#outputs.length; o++) {
        const output = this.#outputs[o];
        copy(output, 0, this.outputs[o], row * output.length, output.length);
      }
      this.values[row] = this.#value[0];
      if (this.#stateOut !== undefined) copy(this.#stateOut, 0, this.states, row * stateSize, stateSize);
    }
    return this.#done;
  }

  release(): Promise<void> {
    return this.#done;
  }

  #grow(rows: number): void {
    this.#maxRows = rows;
    for (let o = 0; o < this.#outputs.length; o++) {
      this.outputs[o] = new Float32Array(this.#outputs[o].length * rows);
    }
    this.values = new Float32Array(rows);
    this.states = new Float32Array(this.stateSize * rows);
  }
}

/**
 * A session of the small player; null where ONNX Runtime has to play: the network is too large, has an operator that the
 * player does not know, or is not what the game needs, which ONNX Runtime's session says.
 *
 * @param maxWork of `MAX_WORK`.
 */
export function createPlayerSession(
  onnx: Uint8Array,
  game: PolicyGame,
  options: PolicySessionOptions,
  maxWork: number,
): PlayerSession | null {
  try {
    const network = new Network(readOnnx(onnx));
    const sampler = createSampler(game.action, 1);
    if (network.work > maxWork || !fits(network, game, sampler, options.stateSize)) return null;
    return new PlayerSession(network, sampler.outputNames, options);
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}

/** Whether inputs and outputs have the names and sizes that the game needs. */
function fits(
  network: Network,
  game: PolicyGame,
  { outputNames, outputSizes }: Pick<ActionSampler, "outputNames" | "outputSizes">,
  stateSize: number | undefined,
): boolean {
  const { inputs, outputs } = network;
  const entries = observationEntries(game.observation);
  const names = entries.map((_, e) => (entries.length === 1 ? "obs" : `obs_${e}`));
  const state = inputs.get("state_ins")?.length ?? 0;
  return (
    [...inputs.keys()].every(
      (name) => names.includes(name) || name === "action_mask" || name === "state_ins",
    ) &&
    names.every((name, e) => inputs.get(name)?.length === entries[e].size) &&
    outputNames.every((name, o) => outputs.get(name)?.length === outputSizes[o]) &&
    outputs.get("value")?.length === 1 &&
    (outputs.get("state_outs")?.length ?? 0) === state &&
    (stateSize ?? state) === state
  );
}

function copy(from: Numbers, at: number, to: Numbers, toAt: number, count: number): void {
  for (let i = 0; i < count; i++) to[toAt + i] = from[at + i];
}
