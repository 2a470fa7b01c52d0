/** The networks that torch, onnxruntime and the browser are compared on. */

import type { PolicyGame } from "@attract/worker/policy/policy-session";
import policies from "../../../contract/golden/policies.json";
import golden from "../../../contract/golden/policy.json";

/** Four numbers in, two actions out: MLP 4-64-64. */
export const CARTPOLE_LIKE: PolicyGame = {
  observation: { kind: "box", dtype: "float32", shape: [4], low: null, high: null },
  action: { kind: "discrete", n: 2, labels: null },
  action_mask: false,
};

export function goldenOnnx(): Uint8Array<ArrayBuffer> {
  return bytesOf(golden.onnx);
}

export interface GoldenTensor {
  dtype: string;
  shape: number[];
  data: number[];
}

/** A small network of one kind of space or core: what torch says of some rows of inputs, and what is drawn from it. */
export interface GoldenPolicy {
  description: PolicyGame & { num_agents: number };
  state_size: number;
  onnx: string;
  /** What ships: the model and its `policy.json`. */
  export: { onnx: string; document: object };
  /** By name in the graph. */
  inputs: Record<string, GoldenTensor>;
  outputs: Record<string, GoldenTensor>;
  action_mask: GoldenTensor | null;
  uniforms: GoldenTensor;
  actions: GoldenTensor;
  modes: GoldenTensor;
  log_probs: GoldenTensor;
}

export const GOLDEN_POLICIES = policies as unknown as Record<string, GoldenPolicy>;

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** A model in which every operator `name` has another name of the same length. */
export function renamed(onnx: Uint8Array, name: string, other: string): Uint8Array<ArrayBuffer> {
  const text = Array.from(onnx, (byte) => String.fromCharCode(byte)).join("");
  if (!text.includes(name)) throw new Error(`the model has no ${name}`);
  return Uint8Array.from(text.replaceAll(name, other), (character) => character.charCodeAt(0));
}

/** Models of a policy: the one of training, and the exported one, by which a run that is over is watched. */
export const GOLDEN_MODELS = Object.entries(GOLDEN_POLICIES).flatMap(([name, policy]) => [
  { name, policy, onnx: policy.onnx },
  { name: `${name}, exported`, policy, onnx: policy.export.onnx },
]);
