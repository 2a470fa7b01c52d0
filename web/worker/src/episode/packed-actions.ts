/** A recorded episode's actions between typed arrays and base64. */

import type { PackedActions } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { numActionComponents, numChoices } from "attract/spaces";

/** Bytes of an episode's actions before they are deflated: `MAX_ACTION_BYTES` of the server. */
export const MAX_ACTION_BYTES = 1 << 20;

/** Actions as they are recorded: whole numbers in the least type that holds the game's choices. */
export type ActionNumbers =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>;
type NumbersConstructor = { new (length: number): ActionNumbers; BYTES_PER_ELEMENT: number };

const KINDS = { uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array } as const;

/** What the actions of a game are recorded in. */
export function actionNumbers({ action }: GameDefinition): NumbersConstructor {
  let highest = 0;
  for (let c = 0; c < numActionComponents(action); c++) {
    const choices = numChoices(action, c);
    if (choices === null) return Float32Array;
    highest = Math.max(highest, choices - 1);
  }
  return highest <= 0xff ? Uint8Array : highest <= 0xffff ? Uint16Array : Int32Array;
}

/** Actions that are not deflated: the server does that. `shape` is [steps, agents] or [steps, agents, components]. */
export function packActions(numbers: ActionNumbers, shape: readonly number[]): PackedActions {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const dtype = (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((name) => numbers instanceof KINDS[name]);
  return { dtype: dtype ?? "int32", shape: [...shape], deflated: false, data: base64Of(bytes) };
}

/** The numbers of packed actions, in C order. Rejects with an Error that says what is wrong. */
export async function unpackActions({ dtype, shape, deflated, data }: PackedActions): Promise<ActionNumbers> {
  const Kind = KINDS[dtype];
  const length = shape.reduce((product, extent) => product * extent, 1);
  const numBytes = length * Kind.BYTES_PER_ELEMENT;
  if (numBytes > MAX_ACTION_BYTES) {
    throw new Error(
      `the actions have ${numBytes} bytes, the limit is ${MAX_ACTION_BYTES}: this is no recorded episode`,
    );
  }
  let bytes = bytesOf(data);
  if (deflated) bytes = await inflate(bytes, numBytes);
  if (bytes.byteLength !== numBytes) {
    throw new Error(
      `the actions are damaged: ${bytes.byteLength} bytes, [${shape}] ${dtype} needs ${numBytes}`,
    );
  }
  return new Kind(bytes.buffer);
}

/** At most one byte more than expected: a stranger's file cannot fill the memory. */
async function inflate(bytes: Uint8Array<ArrayBuffer>, numBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const result = new Uint8Array(numBytes);
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (size + value.byteLength > numBytes) {
        await reader.cancel();
        throw new RangeError(`more than ${numBytes} bytes`);
      }
      result.set(value, size);
      size += value.byteLength;
    }
  } catch (error) {
    throw new Error(`the actions are damaged: ${error instanceof Error ? error.message : String(error)}`);
  }
  return size === numBytes ? result : result.slice(0, size);
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  // As many at once as a call takes arguments.
  for (let from = 0; from < bytes.length; from += 0x2000)
    text += String.fromCharCode(...bytes.subarray(from, from + 0x2000));
  return btoa(text);
}

function bytesOf(data: string): Uint8Array<ArrayBuffer> {
  let text: string;
  try {
    text = atob(data);
  } catch {
    throw new Error("the actions are damaged: they are not base64");
  }
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
