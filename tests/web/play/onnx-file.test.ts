import { AgentError } from "@attract/play";
import { readOnnx } from "@attract/play/onnx-file";
import { expect, test } from "vitest";
import { filesOf } from "./support/golden.ts";

const BYTES = filesOf("conv").model as Uint8Array;

test("a graph is read with its weights, inputs and outputs", () => {
  const graph = readOnnx(BYTES);
  expect(graph.outputs).toEqual(["logits", "value"]);
  expect(graph.inputs).toEqual([{ name: "obs", type: 2, dims: [1, 9, 2, 3] }]);
  expect(graph.constants.get("policy_head.weight")!.dims).toEqual([4, 8]);
  expect(graph.nodes.filter(({ op }) => op === "Conv")[0].attributes.strides).toEqual([2, 2]);
});

test("a file that is cut short or damaged is refused, and nothing else happens", () => {
  for (const length of [0, 1, 100, 1000, BYTES.length - 1]) {
    expect(() => readOnnx(BYTES.slice(0, length)), `${length} bytes`).toThrow(AgentError);
  }
  let refused = 0;
  for (let at = 0; at < BYTES.length; at += at < 400 ? 1 : 97) {
    const damaged = BYTES.slice();
    damaged[at] ^= 0xff;
    try {
      readOnnx(damaged);
    } catch (error) {
      expect(error).toBeInstanceOf(AgentError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(50);
});
