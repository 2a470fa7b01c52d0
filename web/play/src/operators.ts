/** The operators that a policy's graph is made of, each prepared once for the shapes it will meet. */

import { AgentError } from "./errors.ts";
import { BOOL, FLOAT, type GraphNode, INT32 } from "./onnx-file.ts";
import { type Numbers, sizeOf, stridesOf, type Tensor } from "./tensor.ts";

/** Computes an operator's outputs, in their arrays, from what its inputs' arrays hold by then. */
export type Run = () => void;

/** An operator that is ready: the tensors it fills, and what fills them; null where there is nothing to do. */
export interface Prepared {
  readonly outputs: readonly Tensor[];
  readonly run: Run | null;
  /** Multiplications of weights in each run. Default 0. */
  readonly work?: number;
}

type Prepare = (inputs: readonly Tensor[], attributes: GraphNode["attributes"], count: number) => Prepared;

/**
 * Prepares one operator.
 *
 * @throws AgentError for an operator that is not known here.
 */
export function prepare(node: GraphNode, inputs: readonly Tensor[]): Prepared {
  const known = OPERATORS[node.op];
  if (known === undefined) {
    throw new AgentError(
      `the model has the operator ${node.op}, which this player does not know; it plays what Attract ` +
        `exports, ONNX Runtime (onnxruntime-web) plays every model`,
    );
  }
  return known(inputs, node.attributes, node.outputs.length);
}

const OPERATORS: Readonly<Record<string, Prepare>> = {
  Gemm: prepareGemm,
  Conv: prepareConv,
  MaxPool: prepareMaxPool,
  Transpose: prepareTranspose,
  Concat: prepareConcat,
  Split: prepareSplit,
  ArgMax: prepareArgMax,
  ReduceSum: prepareReduceSum,
  Expand: prepareExpand,
  Cast: prepareCast,
  Clip: ([x, low, high]) => {
    const [min, max] = [low.data[0], high.data[0]];
    return mapped(x, (from, to) => {
      for (let i = 0; i < to.length; i++) to[i] = Math.min(Math.max(from[i], min), max);
    });
  },
  Tanh: ([x]) =>
    mapped(x, (from, to) => {
      for (let i = 0; i < to.length; i++) to[i] = Math.tanh(from[i]);
    }),
  Exp: ([x]) =>
    mapped(x, (from, to) => {
      for (let i = 0; i < to.length; i++) to[i] = Math.exp(from[i]);
    }),
  Relu: ([x]) =>
    mapped(x, (from, to) => {
      for (let i = 0; i < to.length; i++) to[i] = Math.max(from[i], 0);
    }),
  Sigmoid: ([x]) =>
    mapped(x, (from, to) => {
      for (let i = 0; i < to.length; i++) to[i] = 1 / (1 + Math.exp(-from[i]));
    }),
  /** Over the whole of one row, as everything here is. */
  Softmax: ([x]) =>
    mapped(x, (from, to) => {
      let most = 0;
      for (let i = 1; i < to.length; i++) if (from[i] > from[most]) most = i;
      for (let i = 0; i < to.length; i++) to[i] = Math.exp(from[i] - from[most]);
      let sum = 0;
      for (let i = 0; i < to.length; i++) sum += to[i];
      for (let i = 0; i < to.length; i++) to[i] /= sum;
    }),
  Add: (inputs) =>
    paired(inputs, (a, atA, b, atB, to) => {
      for (let i = 0; i < to.length; i++) to[i] = a[atA[i]] + b[atB[i]];
    }),
  Sub: (inputs) =>
    paired(inputs, (a, atA, b, atB, to) => {
      for (let i = 0; i < to.length; i++) to[i] = a[atA[i]] - b[atB[i]];
    }),
  Mul: (inputs) =>
    paired(inputs, (a, atA, b, atB, to) => {
      for (let i = 0; i < to.length; i++) to[i] = a[atA[i]] * b[atB[i]];
    }),
  Div: (inputs) =>
    paired(inputs, (a, atA, b, atB, to) => {
      for (let i = 0; i < to.length; i++) to[i] = a[atA[i]] / b[atB[i]];
    }),
  Equal: (inputs) =>
    paired(
      inputs,
      (a, atA, b, atB, to) => {
        for (let i = 0; i < to.length; i++) to[i] = a[atA[i]] === b[atB[i]] ? 1 : 0;
      },
      true,
    ),
  Greater: (inputs) =>
    paired(
      inputs,
      (a, atA, b, atB, to) => {
        for (let i = 0; i < to.length; i++) to[i] = a[atA[i]] > b[atB[i]] ? 1 : 0;
      },
      true,
    ),
  Where: prepareWhere,
  Shape: ([x]) => ({
    outputs: [{ dims: [x.dims.length], data: Int32Array.from(x.dims) }],
    run: null,
  }),
  Flatten: ([x]) => reshaped(x, [1, x.data.length]),
  Squeeze: ([x], { axes }) =>
    reshaped(
      x,
      x.dims.filter((_, axis) => !axes.includes(axis)),
    ),
  Unsqueeze: ([x], { axes }) => {
    const dims = [...x.dims];
    for (const axis of axes) dims.splice(axis, 0, 1);
    return reshaped(x, dims);
  },
};

/** The same numbers in the same place, seen in another shape. */
function reshaped(x: Tensor, dims: readonly number[]): Prepared {
  return { outputs: [{ dims, data: x.data }], run: null };
}

function floats(dims: readonly number[]): Tensor & { data: Float32Array } {
  return { dims, data: new Float32Array(sizeOf(dims)) };
}

/** A tensor, number by number. The loop is the operator's own: a call for each number would make an object of it. */
function mapped(x: Tensor, loop: (from: Numbers, to: Float32Array) => void): Prepared {
  const out = floats(x.dims);
  return { outputs: [out], run: () => loop(x.data, out.data) };
}

type PairLoop = (a: Numbers, atA: Int32Array, b: Numbers, atB: Int32Array, to: Numbers) => void;

/** Two tensors, number by number; the smaller is repeated along the axes that it lacks. */
function paired([a, b]: readonly Tensor[], loop: PairLoop, isTest = false): Prepared {
  const dims = commonShape(a.dims, b.dims);
  const to: Numbers = isTest ? new Uint8Array(sizeOf(dims)) : new Float32Array(sizeOf(dims));
  const [atA, atB] = [placesIn(a.dims, dims), placesIn(b.dims, dims)];
  return {
    outputs: [{ dims, data: to }],
    run: () => loop(a.data, atA, b.data, atB, to),
  };
}

function prepareWhere([condition, a, b]: readonly Tensor[]): Prepared {
  const out = floats(commonShape(commonShape(a.dims, b.dims), condition.dims));
  const [at, atA, atB] = [condition, a, b].map((one) => placesIn(one.dims, out.dims));
  return {
    outputs: [out],
    run: () => {
      for (let i = 0; i < out.data.length; i++) {
        out.data[i] = condition.data[at[i]] !== 0 ? a.data[atA[i]] : b.data[atB[i]];
      }
    },
  };
}

function commonShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  const at = (dims: readonly number[], axis: number): number => dims[axis - rank + dims.length] ?? 1;
  return Array.from({ length: rank }, (_, axis) => Math.max(at(a, axis), at(b, axis)));
}

/** For each number of a tensor of shape `of`, where it lies in one of shape `dims` that is repeated to fit. */
function placesIn(dims: readonly number[], of: readonly number[]): Int32Array {
  const missing = of.length - dims.length;
  const own = stridesOf(dims);
  const strides = stridesOf(of);
  return Int32Array.from({ length: sizeOf(of) }, (_, index) => {
    let place = 0;
    for (let axis = missing; axis < of.length; axis++) {
      const along = Math.floor(index / strides[axis]) % of[axis];
      if (dims[axis - missing] !== 1) place += along * own[axis - missing];
    }
    return place;
  });
}

/** x W^T + c for one row x; `c` is a row of its own or absent. */
function prepareGemm([x, weight, bias]: readonly Tensor[], { transB }: GraphNode["attributes"]): Prepared {
  if (transB?.[0] !== 1 || x.dims[0] !== 1) throw new AgentError("Gemm is known with transB=1 alone");
  const [numOutputs, numInputs] = weight.dims;
  const out = floats([1, numOutputs]);
  const [w, from, to] = [weight.data, x.data, out.data];
  const added = bias?.data ?? new Float32Array(numOutputs);
  return {
    outputs: [out],
    work: numOutputs * numInputs,
    run: () => {
      let o = 0;
      let at = 0;
      // Four sums at once: none waits for the addition before.
      for (; o + 4 <= numOutputs; o += 4) {
        let s0 = 0;
        let s1 = 0;
        let s2 = 0;
        let s3 = 0;
        for (let i = 0; i < numInputs; i++, at++) {
          const x = from[i];
          s0 += w[at] * x;
          s1 += w[at + numInputs] * x;
          s2 += w[at + 2 * numInputs] * x;
          s3 += w[at + 3 * numInputs] * x;
        }
        at += 3 * numInputs;
        to[o] = s0 + added[o];
        to[o + 1] = s1 + added[o + 1];
        to[o + 2] = s2 + added[o + 2];
        to[o + 3] = s3 + added[o + 3];
      }
      for (; o < numOutputs; o++) {
        let sum = 0;
        for (let i = 0; i < numInputs; i++) sum += w[at++] * from[i];
        to[o] = sum + added[o];
      }
    },
  };
}

/** A convolution over [1, channels, height, width], zeros beyond its edges. */
function prepareConv([x, weight, bias]: readonly Tensor[], attributes: GraphNode["attributes"]): Prepared {
  const [, channels, height, width] = x.dims;
  const [numMaps, , rows, columns] = weight.dims;
  const [down, right] = attributes.strides;
  const [top, left, bottom, end] = attributes.pads;
  const outHeight = Math.floor((height + top + bottom - rows) / down) + 1;
  const outWidth = Math.floor((width + left + end - columns) / right) + 1;
  const out = floats([1, numMaps, outHeight, outWidth]);
  const [from, w, to] = [x.data, weight.data, out.data];
  const kernel = rows * columns;
  return {
    outputs: [out],
    work: sizeOf(out.dims) * channels * kernel,
    run: () => {
      let at = 0;
      for (let map = 0; map < numMaps; map++) {
        for (let y = 0; y < outHeight; y++) {
          const firstRow = Math.max(0, top - y * down);
          const endRow = Math.min(rows, height + top - y * down);
          for (let z = 0; z < outWidth; z++) {
            const firstColumn = Math.max(0, left - z * right);
            const endColumn = Math.min(columns, width + left - z * right);
            let sum = bias.data[map];
            for (let channel = 0; channel < channels; channel++) {
              const kernelAt = (map * channels + channel) * kernel;
              for (let row = firstRow; row < endRow; row++) {
                const line = (channel * height + y * down - top + row) * width + z * right - left;
                const kernelRow = kernelAt + row * columns;
                for (let column = firstColumn; column < endColumn; column++) {
                  sum += w[kernelRow + column] * from[line + column];
                }
              }
            }
            to[at++] = sum;
          }
        }
      }
    },
  };
}

/** The largest number of each window over [1, channels, height, width]; nothing beyond its edges counts. */
function prepareMaxPool([x]: readonly Tensor[], attributes: GraphNode["attributes"]): Prepared {
  const [, channels, height, width] = x.dims;
  const [rows, columns] = attributes.kernel_shape;
  const [down, right] = attributes.strides;
  const [top, left, bottom, end] = attributes.pads;
  const outHeight = Math.floor((height + top + bottom - rows) / down) + 1;
  const outWidth = Math.floor((width + left + end - columns) / right) + 1;
  const out = floats([1, channels, outHeight, outWidth]);
  return {
    outputs: [out],
    run: () => {
      let at = 0;
      for (let channel = 0; channel < channels; channel++) {
        for (let y = 0; y < outHeight; y++) {
          for (let z = 0; z < outWidth; z++) {
            let most = Number.NEGATIVE_INFINITY;
            const endRow = Math.min(height, y * down - top + rows);
            const endColumn = Math.min(width, z * right - left + columns);
            for (let row = Math.max(0, y * down - top); row < endRow; row++) {
              for (let column = Math.max(0, z * right - left); column < endColumn; column++) {
                most = Math.max(most, x.data[(channel * height + row) * width + column]);
              }
            }
            out.data[at++] = most;
          }
        }
      }
    },
  };
}

function prepareTranspose([x]: readonly Tensor[], { perm }: GraphNode["attributes"]): Prepared {
  const strides = stridesOf(x.dims);
  const out = floats(perm.map((axis) => x.dims[axis]));
  const own = stridesOf(out.dims);
  const places = Int32Array.from(out.data, (_, index) =>
    perm.reduce((place, axis, i) => place + (Math.floor(index / own[i]) % out.dims[i]) * strides[axis], 0),
  );
  return {
    outputs: [out],
    run: () => {
      for (let i = 0; i < places.length; i++) out.data[i] = x.data[places[i]];
    },
  };
}

/** One row made of several, side by side. */
function prepareConcat(inputs: readonly Tensor[]): Prepared {
  const width = inputs.reduce((sum, one) => sum + one.data.length, 0);
  const data = inputs[0].data instanceof Int32Array ? new Int32Array(width) : new Float32Array(width);
  return {
    outputs: [{ dims: [1, width], data }],
    run: () => {
      let at = 0;
      for (const { data: part } of inputs) {
        data.set(part, at);
        at += part.length;
      }
    },
  };
}

/** Parts of one row, in place. */
function prepareSplit([x]: readonly Tensor[], { split }: GraphNode["attributes"]): Prepared {
  let at = 0;
  const outputs = split.map((size) => {
    at += size;
    return { dims: [1, size], data: x.data.subarray(at - size, at) };
  });
  return { outputs, run: null };
}

/** Where the largest number of a row is, the first of several. */
function prepareArgMax([x]: readonly Tensor[], { keepdims }: GraphNode["attributes"]): Prepared {
  const data = new Int32Array(1);
  return {
    outputs: [{ dims: keepdims?.[0] === 0 ? [1] : [1, 1], data }],
    run: () => {
      let most = 0;
      for (let i = 1; i < x.data.length; i++) if (x.data[i] > x.data[most]) most = i;
      data[0] = most;
    },
  };
}

/** The sums along one axis, which stays as one of length 1. */
function prepareReduceSum([x]: readonly Tensor[], { axes: [axis] }: GraphNode["attributes"]): Prepared {
  const out = floats(x.dims.map((length, i) => (i === axis ? 1 : length)));
  const places = placesIn(out.dims, x.dims);
  return {
    outputs: [out],
    run: () => {
      out.data.fill(0);
      for (let i = 0; i < places.length; i++) out.data[places[i]] += x.data[i];
    },
  };
}

function prepareExpand([x, shape]: readonly Tensor[]): Prepared {
  const out = floats(commonShape(x.dims, Array.from(shape.data)));
  const places = placesIn(x.dims, out.dims);
  return {
    outputs: [out],
    run: () => {
      for (let i = 0; i < places.length; i++) out.data[i] = x.data[places[i]];
    },
  };
}

function prepareCast([x]: readonly Tensor[], { to: [type] }: GraphNode["attributes"]): Prepared {
  if (type === BOOL) {
    const bits = new Uint8Array(x.data.length);
    return {
      outputs: [{ dims: x.dims, data: bits }],
      run: () => {
        for (let i = 0; i < bits.length; i++) bits[i] = x.data[i] === 0 ? 0 : 1;
      },
    };
  }
  if (type !== FLOAT && type !== INT32) throw new AgentError(`Cast to type ${type} is not known here`);
  const data = type === FLOAT ? new Float32Array(x.data.length) : new Int32Array(x.data.length);
  return { outputs: [{ dims: x.dims, data }], run: () => data.set(x.data) };
}
