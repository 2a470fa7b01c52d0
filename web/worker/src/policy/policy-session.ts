/** A policy version as an ONNX Runtime session in WebAssembly, one thread. */

import type { GameDescription } from "@attract/schema";
import { observationEntries } from "attract/observation";
import { actionMaskSize } from "attract/spaces";
import * as ort from "onnxruntime-web/wasm";
import { ObservationBatch } from "../game/observation-batch.ts";
import type { ActionSampler } from "./action-sampler.ts";
import type { ModelPolicy } from "./policy.ts";
import { createSampler } from "./sampler.ts";

// One thread needs no cross-origin isolation.
ort.env.wasm.numThreads = 1;
ort.env.logLevel = "error";

type Feeds = Record<string, ort.Tensor>;

const NONE = new Float32Array(0);

export interface PolicySessionOptions {
  policyId?: string;
  policyVersion?: number;
  /** Numbers of the recurrent state that the model must take, if that is known. */
  stateSize?: number;
  /** Rows of its warm-up run. */
  maxBatch: number;
}

/** What a session needs to know of a game. */
export type PolicyGame = Pick<GameDescription, "observation" | "action" | "action_mask">;

/**
 * Owned by one worker (or one page, for watching). ONNX Runtime serialises its runs: never start one before the last is done.
 */
export class PolicySession implements ModelPolicy {
  readonly policyId: string;
  readonly policyVersion: number;
  readonly isRandom = false;
  readonly stateSize: number;
  readonly outputs: Float32Array[];
  values: Float32Array = NONE;
  states: Float32Array = NONE;
  readonly #session: ort.InferenceSession;
  readonly #outputNames: readonly string[];
  /** Whether the model has a mask input. Exported models have one for their `action` output, which is not used here. */
  readonly #takesMask: boolean;
  /** Input tensors per batch and number of rows, made at their first use. */
  readonly #feeds = new Map<ObservationBatch, Feeds[]>();

  constructor(session: ort.InferenceSession, sampler: ActionSampler, options: PolicySessionOptions) {
    this.#session = session;
    this.#outputNames = sampler.outputNames;
    this.#takesMask = session.inputNames.includes("action_mask");
    this.outputs = sampler.outputNames.map(() => NONE);
    this.stateSize = stateSizeOf(session);
    this.policyId = options.policyId ?? "main";
    this.policyVersion = options.policyVersion ?? 0;
  }

  async run(batch: ObservationBatch, rows: number): Promise<void> {
    const outputs = await this.#session.run(this.#feedsOf(batch, rows));
    for (let i = 0; i < this.outputs.length; i++) {
      this.outputs[i] = outputs[this.#outputNames[i]].data as Float32Array;
    }
    this.values = outputs.value.data as Float32Array;
    if (this.stateSize > 0) this.states = outputs.state_outs.data as Float32Array;
  }

  /** Frees the session's memory; without it each version swapped in leaks about half a megabyte. */
  async release(): Promise<void> {
    this.#feeds.clear();
    await this.#session.release();
  }

  #feedsOf(batch: ObservationBatch, rows: number): Feeds {
    let byRows = this.#feeds.get(batch);
    if (byRows === undefined) {
      byRows = [];
      this.#feeds.set(batch, byRows);
    }
    byRows[rows] ??= makeFeeds(batch, rows, this.#takesMask);
    return byRows[rows];
  }
}

/**
 * A session of `onnx` that has run once. The bytes may be a view of a larger buffer.
 *
 * Raises whatever ONNX Runtime says of a model it cannot use; Error for a model of other outputs than the game's actions need.
 */
export async function createPolicySession(
  onnx: Uint8Array,
  game: PolicyGame,
  options: PolicySessionOptions,
): Promise<PolicySession> {
  const session = await ort.InferenceSession.create(onnx, {
    executionProviders: ["wasm"],
    graphOptimizationLevel: isPlain(game, options) ? "disabled" : "all",
  });
  try {
    const sampler = createSampler(game.action, 1);
    for (const name of [...sampler.outputNames, "value"]) {
      if (!session.outputNames.includes(name)) throw new Error(`the model has no output ${name}`);
    }
    const policy = new PolicySession(session, sampler, options);
    const { maxBatch, stateSize = policy.stateSize } = options;
    if (policy.stateSize !== stateSize) {
      throw new Error(`expected a model with a state of ${stateSize}, got ${policy.stateSize}`);
    }
    await policy.run(
      new ObservationBatch(game.observation, maxBatch, {
        maskSize: game.action_mask ? actionMaskSize(game.action) : 0,
        stateSize: policy.stateSize,
      }),
      maxBatch,
    );
    checkOutputs(policy, sampler, maxBatch);
    return policy;
  } catch (error) {
    await session.release();
    throw error;
  }
}

/**
 * Whether the graph is one of plain layers, which our export writes as fast as it can run: looking for something to optimise
 * would double the time a session takes to make. Images and recurrent policies gain 5 to 10 percent by it.
 */
function isPlain(game: PolicyGame, options: PolicySessionOptions): boolean {
  const entries = observationEntries(game.observation);
  return (options.stateSize ?? 0) === 0 && entries.every(({ shape }) => shape.length === 1);
}

/** Where the engine's WebAssembly can be fetched, by a thread that may fetch. To be said before the first session. */
export function setInferenceEngine(url: string): void {
  ort.env.wasm.wasmPaths = { wasm: url };
}

/**
 * Compiles the inference engine, so that the first policy's session takes milliseconds. A worker that begins with the engine
 * does this before it says hello: no lease waits for it, and no watchdog takes the compiler's silence for a game that hangs.
 *
 * @param wasm the engine's WebAssembly. Raises whatever the browser says of WebAssembly it cannot load.
 */
export async function startInferenceEngine(wasm: Blob): Promise<void> {
  ort.env.wasm.wasmBinary = await wasm.arrayBuffer();
  const session = await ort.InferenceSession.create(IDENTITY_MODEL, { executionProviders: ["wasm"] });
  await session.release();
  // Compiled: the megabytes that it was compiled from are no longer needed.
  ort.env.wasm.wasmBinary = undefined;
}

/** The smallest ONNX model, y = x: opset 18, IR version 9. */
const IDENTITY_MODEL = Uint8Array.from([
  8, 9, 58, 55, 10, 16, 10, 1, 120, 18, 1, 121, 34, 8, 73, 100, 101, 110, 116, 105, 116, 121, 18, 1, 103, 90,
  15, 10, 1, 120, 18, 10, 10, 8, 8, 1, 18, 4, 10, 2, 8, 1, 98, 15, 10, 1, 121, 18, 10, 10, 8, 8, 1, 18, 4, 10,
  2, 8, 1, 66, 4, 10, 0, 16, 18,
]);

function checkOutputs(policy: PolicySession, sampler: ActionSampler, rows: number): void {
  const sizes = [
    ...policy.outputs.map((output) => output.length),
    policy.values.length,
    policy.states.length,
  ];
  const expected = [...sampler.outputSizes.map((size) => rows * size), rows, rows * policy.stateSize];
  if (sizes.some((size, i) => size !== expected[i])) {
    const names = [...sampler.outputNames, "value", "state_outs"];
    const inWords = (numbers: number[]) => names.map((name, i) => `${numbers[i]} ${name}`).join(", ");
    throw new Error(`for ${rows} rows expected ${inWords(expected)}; got ${inWords(sizes)}`);
  }
}

/** Size of the input `state_ins`; 0 when the model has none. */
function stateSizeOf(session: ort.InferenceSession): number {
  const input = session.inputMetadata.find(({ name }) => name === "state_ins");
  if (input === undefined) return 0;
  const size = input.isTensor ? input.shape[1] : undefined;
  if (typeof size === "number") return size;
  throw new Error("expected state_ins of a fixed size per row");
}

function makeFeeds(batch: ObservationBatch, rows: number, takesMask: boolean): Feeds {
  const feeds: Feeds = {};
  for (let e = 0; e < batch.entries.length; e++) {
    const { dtype, shape, size } = batch.entries[e];
    const name = batch.entries.length === 1 ? "obs" : `obs_${e}`;
    const array = batch.arrays[e].subarray(0, rows * size);
    // The tensor keeps this view, so each run reads what the games wrote since.
    feeds[name] = new ort.Tensor(dtype, array, [rows, ...shape]);
  }
  const { maskSize, masks, stateSize, states } = batch;
  if (takesMask) {
    feeds.action_mask = new ort.Tensor("uint8", masks.subarray(0, rows * maskSize), [rows, maskSize]);
  }
  if (stateSize > 0) {
    feeds.state_ins = new ort.Tensor("float32", states.subarray(0, rows * stateSize), [rows, stateSize]);
  }
  return feeds;
}
