import { Network } from "@attract/play/network";
import { readOnnx } from "@attract/play/onnx-file";
import { expect, test } from "vitest";
import { filesOf } from "./support/golden.ts";

test("an operator that is not known is named, with what plays it", () => {
  const graph = readOnnx(filesOf("gru").model as Uint8Array);
  const nodes = graph.nodes.map((node) => (node.op === "Tanh" ? { ...node, op: "Erf" } : node));
  expect(() => new Network({ ...graph, nodes })).toThrow(/operator Erf.*ONNX Runtime/);
});

test("a graph whose parts do not fit together is refused", () => {
  const graph = readOnnx(filesOf("gru").model as Uint8Array);
  expect(() => new Network({ ...graph, constants: new Map() })).toThrow("the model has no");
});
