/**
 * Reads an ONNX file: as much of its Protocol Buffers as a policy's graph has.
 *
 * Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, ModelProto and below.
 */

import { AgentError } from "./errors.ts";
import { type Numbers, sizeOf, type Tensor } from "./tensor.ts";

/** One operator of the graph. */
export interface GraphNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Integers and lists of integers; a policy's graph uses no other attributes. */
  readonly attributes: Readonly<Record<string, readonly number[]>>;
}

/** An input of the whole graph; the batch has the dimension 1. */
export interface GraphInput {
  readonly name: string;
  /** One of FLOAT, UINT8, INT32. */
  readonly type: number;
  readonly dims: readonly number[];
}

/** Operators in the order in which they run. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly constants: ReadonlyMap<string, Tensor>;
  readonly inputs: readonly GraphInput[];
  readonly outputs: readonly string[];
}

/** `TensorProto.DataType`. */
export const FLOAT = 1;
export const UINT8 = 2;
export const INT32 = 6;
export const BOOL = 9;
const INT64 = 7;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Steps through the fields of one message. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;
  /** Number of the field that `next` came to. */
  field = 0;
  #type = VARINT;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Goes to the next field, whose value has to be taken or skipped; false at the end. */
  next(): boolean {
    if (this.#at >= this.#bytes.length) return false;
    const key = this.integer();
    this.field = key >> 3;
    this.#type = key & 7;
    return true;
  }

  /** A varint, as a number of two's complement; exact within 2^53. */
  integer(): number {
    let value = 0n;
    for (let shift = 0n; shift < 64n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
    throw damaged("it ends within a number");
  }

  /** A message, a text or a packed list; not copied. */
  bytes(): Uint8Array {
    const length = this.integer();
    const start = this.#at;
    this.#at += length;
    if (this.#type !== BYTES || length < 0 || this.#at > this.#bytes.length) {
      throw damaged("it ends within a field");
    }
    return this.#bytes.subarray(start, this.#at);
  }

  text(): string {
    return new TextDecoder().decode(this.bytes());
  }

  message(): Reader {
    return new Reader(this.bytes());
  }

  /** One integer, or a packed list of them. */
  integers(): number[] {
    if (this.#type === VARINT) return [this.integer()];
    const list = this.message();
    const found: number[] = [];
    while (list.#at < list.#bytes.length) found.push(list.integer());
    return found;
  }

  skip(): void {
    if (this.#type === VARINT) this.integer();
    else if (this.#type === BYTES) this.bytes();
    else if (this.#type === FIXED64) this.#at += 8;
    else if (this.#type === FIXED32) this.#at += 4;
    else throw damaged(`field ${this.field} has no known type`);
  }
}

function damaged(why: string): AgentError {
  return new AgentError(`the model is no ONNX file, or a damaged one: ${why}`);
}

/**
 * The graph of a model.
 *
 * @throws AgentError when the bytes are no ONNX model, or hold numbers that a policy's graph never has.
 */
export function readOnnx(bytes: Uint8Array): Graph {
  const graph = {
    nodes: [] as GraphNode[],
    constants: new Map<string, Tensor>(),
    inputs: [] as GraphInput[],
    outputs: [] as string[],
  };
  // Not a Buffer of Node's, whose `slice` copies nothing.
  const model = new Reader(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  while (model.next()) {
    if (model.field === 7) readGraph(model.message(), graph);
    else model.skip();
  }
  if (graph.nodes.length === 0) throw damaged("it has no operators");
  return graph;
}

function readGraph(
  from: Reader,
  graph: { nodes: GraphNode[]; constants: Map<string, Tensor>; inputs: GraphInput[]; outputs: string[] },
): void {
  while (from.next()) {
    if (from.field === 1) graph.nodes.push(readNode(from.message()));
    else if (from.field === 5) graph.constants.set(...readTensor(from.message()));
    else if (from.field === 11) graph.inputs.push(readValue(from.message()));
    else if (from.field === 12) graph.outputs.push(readValue(from.message()).name);
    else from.skip();
  }
}

function readNode(from: Reader): GraphNode {
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes: Record<string, number[]> = {};
  let op = "";
  while (from.next()) {
    if (from.field === 1) inputs.push(from.text());
    else if (from.field === 2) outputs.push(from.text());
    else if (from.field === 4) op = from.text();
    else if (from.field === 5) {
      const attribute = from.message();
      let name = "";
      const numbers: number[] = [];
      while (attribute.next()) {
        if (attribute.field === 1) name = attribute.text();
        else if (attribute.field === 3 || attribute.field === 8) numbers.push(...attribute.integers());
        else attribute.skip();
      }
      attributes[name] = numbers;
    } else from.skip();
  }
  return { op, inputs, outputs, attributes };
}

function readTensor(from: Reader): [string, Tensor] {
  const dims: number[] = [];
  let name = "";
  let type = 0;
  let raw = new Uint8Array();
  while (from.next()) {
    if (from.field === 1) dims.push(...from.integers());
    else if (from.field === 2) type = from.integer();
    else if (from.field === 8) name = from.text();
    else if (from.field === 9) raw = from.bytes().slice();
    else from.skip();
  }
  const data = numbersOf(type, raw);
  if (data.length !== sizeOf(dims)) {
    throw damaged(`${name} holds ${data.length} numbers, expected ${sizeOf(dims)}`);
  }
  return [name, { dims, data }];
}

/** The numbers of little-endian bytes, as every machine with a browser has them. */
function numbersOf(type: number, raw: Uint8Array<ArrayBuffer>): Numbers {
  const size = type === UINT8 ? 1 : type === INT64 ? 8 : 4;
  if (raw.length % size !== 0) throw damaged(`${raw.length} bytes are no numbers of ${size} bytes`);
  if (type === FLOAT) return new Float32Array(raw.buffer);
  if (type === INT32) return new Int32Array(raw.buffer);
  if (type === UINT8) return raw;
  if (type === INT64) return Int32Array.from(new BigInt64Array(raw.buffer), Number);
  throw damaged(`it has numbers of type ${type}`);
}

function readValue(from: Reader): GraphInput {
  const dims: number[] = [];
  let name = "";
  let type = 0;
  while (from.next()) {
    if (from.field === 1) name = from.text();
    else if (from.field !== 2) from.skip();
    else {
      // TypeProto.tensor_type: elem_type, then shape, whose dims are a value, or a name for any number.
      const kind = from.message();
      while (kind.next()) {
        if (kind.field !== 1) kind.skip();
        else {
          const tensor = kind.message();
          while (tensor.next()) {
            if (tensor.field === 1) type = tensor.integer();
            else if (tensor.field === 2) dims.push(...readDims(tensor.message()));
            else tensor.skip();
          }
        }
      }
    }
  }
  return { name, type, dims };
}

function readDims(shape: Reader): number[] {
  const dims: number[] = [];
  while (shape.next()) {
    const dim = shape.message();
    let value = 1;
    while (dim.next()) {
      if (dim.field === 1) value = dim.integer();
      else dim.skip();
    }
    dims.push(value);
  }
  return dims;
}
