/** A policy's graph, ready to decide: one observation in, its outputs out, without a new object in between. */

import { AgentError } from "./errors.ts";
import { FLOAT, type Graph, INT32, UINT8 } from "./onnx-file.ts";
import { prepare, type Run } from "./operators.ts";
import { type Numbers, sizeOf, type Tensor } from "./tensor.ts";

/** Fill `inputs`, call `run`, read `outputs`; all of them stay the same arrays. */
export class Network {
  readonly inputs: ReadonlyMap<string, Numbers>;
  readonly outputs: ReadonlyMap<string, Numbers>;
  /** Multiplications of weights in each run. */
  readonly work: number;
  readonly #steps: readonly Run[];

  /** @throws AgentError for a graph of operators that are not known here. */
  constructor(graph: Graph) {
    const tensors = new Map<string, Tensor>(graph.constants);
    const steps: Run[] = [];
    let sum = 0;
    const inputs = new Map<string, Numbers>();
    for (const { name, type, dims } of graph.inputs) {
      const data = emptyOf(type, sizeOf(dims), name);
      inputs.set(name, data);
      tensors.set(name, { dims, data });
    }
    const found = (name: string): Tensor => {
      const tensor = tensors.get(name);
      if (tensor === undefined) throw new AgentError(`the model has no ${name}, which it reads`);
      return tensor;
    };
    for (const node of graph.nodes) {
      const { outputs, run, work = 0 } = prepare(node, node.inputs.map(found));
      sum += work;
      for (const [index, name] of node.outputs.entries()) tensors.set(name, outputs[index]);
      if (run !== null) steps.push(run);
    }
    this.inputs = inputs;
    this.outputs = new Map(graph.outputs.map((name) => [name, found(name).data]));
    this.#steps = steps;
    this.work = sum;
  }

  /** Compute the outputs of what the inputs hold. */
  run(): void {
    for (const step of this.#steps) step();
  }
}

function emptyOf(type: number, size: number, name: string): Numbers {
  if (type === FLOAT) return new Float32Array(size);
  if (type === INT32) return new Int32Array(size);
  if (type === UINT8) return new Uint8Array(size);
  throw new AgentError(`the model's input ${name} has numbers of type ${type}, which are not known here`);
}
