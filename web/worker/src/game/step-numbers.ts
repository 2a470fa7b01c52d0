/** The numbers that each step has, in memory and on the wire, as the tables of the schema list them. */

import type { Tensor, WireArray } from "@attract/schema";

interface ArrayOf {
  float32: Float32Array<ArrayBuffer>;
  bool: Uint8Array<ArrayBuffer>;
  uint16: Uint16Array<ArrayBuffer>;
}

const ARRAYS = { float32: Float32Array, bool: Uint8Array, uint16: Uint16Array } as const;

/** Name to dtype: `DECIDED_NUMBERS`, `OUTCOME_NUMBERS` or both. */
export type NumberTable = Readonly<Record<string, keyof ArrayOf>>;

/** An array for each number of a table. */
export type NumberArrays<Table extends NumberTable> = {
  readonly [Name in keyof Table]: ArrayOf[Table[Name]];
};

/** Zeros, `length` of each. */
export function allocateNumbers<Table extends NumberTable>(
  table: Table,
  length: number,
): NumberArrays<Table> {
  const made = Object.entries(table).map(([name, dtype]) => [name, new ARRAYS[dtype](length)]);
  return Object.fromEntries(made) as NumberArrays<Table>;
}

/** Bytes of one of each. */
export function numberBytes(table: NumberTable): number {
  return Object.values(table).reduce((sum, dtype) => sum + ARRAYS[dtype].BYTES_PER_ELEMENT, 0);
}

/** Each array as `tensor` sends it. */
export function numberTensors<Table extends NumberTable>(
  arrays: NumberArrays<Table>,
  tensor: (array: WireArray) => Tensor,
): Record<keyof Table, Tensor> {
  const sent = Object.entries<WireArray>(arrays).map(([name, array]) => [name, tensor(array)]);
  return Object.fromEntries(sent) as Record<keyof Table, Tensor>;
}

/** Zeros at one place of each. */
export function clearNumbers(arrays: NumberArrays<NumberTable>, at: number): void {
  for (const array of Object.values(arrays)) array[at] = 0;
}
