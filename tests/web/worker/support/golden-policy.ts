/** The network that torch, onnxruntime and the browser are compared on. */

import type { PolicyGame } from "@attract/worker/policy-session";
import golden from "../../../contract/golden/policy.json";

/** Four numbers in, two actions out: MLP 4-64-64. */
export const CARTPOLE_LIKE: PolicyGame = {
  observation: { kind: "box", dtype: "float32", shape: [4], low: null, high: null },
  action: { kind: "discrete", n: 2, labels: null },
  action_mask: false,
};

export function goldenOnnx(): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(golden.onnx), (character) => character.charCodeAt(0));
}
