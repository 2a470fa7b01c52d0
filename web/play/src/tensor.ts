/** Arrays with a shape, as the graph passes them from operator to operator. */

export type Numbers = Float32Array | Int32Array | Uint8Array | Float64Array;

/** Numbers of one type, in row-major order. The array stays the same one from decision to decision. */
export interface Tensor {
  readonly dims: readonly number[];
  readonly data: Numbers;
}

/** How many numbers a shape holds; 1 for that of a single number. */
export function sizeOf(dims: readonly number[]): number {
  return dims.reduce((size, dim) => size * dim, 1);
}

/** How many numbers lie between neighbours along each axis. */
export function stridesOf(dims: readonly number[]): number[] {
  const strides = new Array<number>(dims.length).fill(1);
  for (let axis = dims.length - 2; axis >= 0; axis--) strides[axis] = strides[axis + 1] * dims[axis + 1];
  return strides;
}
