/** A policy version as an ONNX Runtime session in WebAssembly, one thread. */

import type { GameDescription } from "@attract/schema";
import wasmUrl from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import * as ort from "onnxruntime-web/wasm";
import { ObservationBatch } from "./observation-batch.ts";
import type { Policy } from "./policy.ts";
import { DiscreteSampler } from "./sampler.ts";

// The file is fetched relative to the page's own assets; one thread needs no cross-origin isolation.
ort.env.wasm.wasmPaths = { wasm: new URL(wasmUrl, import.meta.url).href };
ort.env.wasm.numThreads = 1;
ort.env.logLevel = "error";

type Feeds = Record<string, ort.Tensor>;

export interface PolicySessionOptions {
  policyId?: string;
  policyVersion?: number;
  /** Rows of the session's own `batch`, and of its warm-up run. */
  maxBatch: number;
}

/** What a session needs to know of a game. */
export type PolicyGame = Pick<GameDescription, "observation" | "action">;

/**
 * Owned by one worker (or one page, for watching). ONNX Runtime serialises its runs: never start one before the last is done.
 */
export class PolicySession implements Policy {
  readonly policyId: string;
  readonly policyVersion: number;
  /** For callers without a batch of their own. */
  readonly batch: ObservationBatch;
  logits: Float32Array = new Float32Array(0);
  values: Float32Array = new Float32Array(0);
  readonly #session: ort.InferenceSession;
  readonly #sampler: DiscreteSampler;
  /** Input tensors per batch and number of rows, made at their first use. */
  readonly #feeds = new Map<ObservationBatch, Feeds[]>();

  constructor(session: ort.InferenceSession, game: PolicyGame, options: PolicySessionOptions) {
    this.#session = session;
    this.policyId = options.policyId ?? "main";
    this.policyVersion = options.policyVersion ?? 0;
    this.batch = new ObservationBatch(game.observation as never, options.maxBatch);
    this.#sampler = new DiscreteSampler(numDiscreteActions(game));
  }

  async run(batch: ObservationBatch, rows: number): Promise<void> {
    const outputs = await this.#session.run(this.#feedsOf(batch, rows));
    this.logits = outputs.logits.data as Float32Array;
    this.values = outputs.value.data as Float32Array;
  }

  /** One decision on row 0 of `batch`: the most probable action, or one sampled with `uniform` in [0, 1). */
  async act(options: { deterministic: boolean; uniform?: number }): Promise<number> {
    await this.run(this.batch, 1);
    if (options.deterministic) return this.#sampler.argmax(this.logits, 0);
    return this.#sampler.sample(this.logits, 0, options.uniform ?? Math.random());
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
    byRows[rows] ??= makeFeeds(batch, rows);
    return byRows[rows];
  }
}

/**
 * A session of `onnx` that has run once. The bytes may be a view of a larger buffer.
 *
 * Raises whatever ONNX Runtime says of a model it cannot use; Error for an action space that is not discrete.
 */
export async function createPolicySession(
  onnx: Uint8Array,
  game: PolicyGame,
  options: PolicySessionOptions,
): Promise<PolicySession> {
  const session = await ort.InferenceSession.create(onnx, { executionProviders: ["wasm"] });
  try {
    const policy = new PolicySession(session, game, options);
    await policy.run(policy.batch, options.maxBatch);
    checkOutputs(policy, options.maxBatch * numDiscreteActions(game), options.maxBatch);
    return policy;
  } catch (error) {
    await session.release();
    throw error;
  }
}

/**
 * Loads and compiles the inference engine, so that the first policy's session takes milliseconds. A worker does this before
 * it says hello: no lease waits for it, and no watchdog takes the compiler's silence for a game that hangs.
 *
 * Raises whatever the browser says of WebAssembly it cannot load.
 */
export async function startInferenceEngine(): Promise<void> {
  const session = await ort.InferenceSession.create(IDENTITY_MODEL, { executionProviders: ["wasm"] });
  await session.release();
}

/** The smallest ONNX model, y = x: opset 18, IR version 9. */
const IDENTITY_MODEL = Uint8Array.from([
  8, 9, 58, 55, 10, 16, 10, 1, 120, 18, 1, 121, 34, 8, 73, 100, 101, 110, 116, 105, 116, 121, 18, 1, 103, 90,
  15, 10, 1, 120, 18, 10, 10, 8, 8, 1, 18, 4, 10, 2, 8, 1, 98, 15, 10, 1, 121, 18, 10, 10, 8, 8, 1, 18, 4, 10,
  2, 8, 1, 66, 4, 10, 0, 16, 18,
]);

/** Choices of a discrete action space. Raises Error for any other. */
export function numDiscreteActions(game: PolicyGame): number {
  if (game.action.kind === "discrete") return game.action.n;
  throw new Error(`expected a discrete action space, got ${game.action.kind}`);
}

function checkOutputs(policy: PolicySession, numLogits: number, numValues: number): void {
  const { logits, values } = policy;
  if (logits.length !== numLogits || values.length !== numValues) {
    throw new Error(
      `expected ${numLogits} logits and ${numValues} values, got ${logits.length} and ${values.length}`,
    );
  }
}

function makeFeeds(batch: ObservationBatch, rows: number): Feeds {
  const feeds: Feeds = {};
  for (let e = 0; e < batch.entries.length; e++) {
    const { dtype, shape, size } = batch.entries[e];
    const name = batch.entries.length === 1 ? "obs" : `obs_${e}`;
    const array = batch.arrays[e].subarray(0, rows * size);
    // The tensor keeps this view, so each run reads what the games wrote since.
    feeds[name] = new ort.Tensor(dtype, array, [rows, ...shape]);
  }
  return feeds;
}
