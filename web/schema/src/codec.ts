/** Frames and tensors in the browser: one MessagePack map per message, validated as it is decoded. */

import { Decoder, Encoder } from "@msgpack/msgpack";
import { validate as validateFromBrowser } from "./from-browser-validator.gen.js";
import type { FromBrowser, RecordedEpisode, Tensor, ToBrowser } from "./messages.gen.ts";
import { validate as validateToBrowser } from "./to-browser-validator.gen.js";

export type DType = Tensor["dtype"];
export type WireArray = Float32Array | Int32Array | Uint8Array | Uint16Array;

/** A peer sent what the protocol does not allow. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

const BYTES_PER_ELEMENT: Record<DType, number> = { float32: 4, float16: 2, int32: 4, uint8: 1, uint16: 2 };
const encoder = new Encoder({ initialBufferSize: 1 << 16, maxDepth: 32 });
const decoder = new Decoder();

/** One frame that the caller owns. Whole numbers travel as integers, as MessagePack prefers; both sides take them. */
export function encodeMessage(message: FromBrowser | ToBrowser): Uint8Array<ArrayBuffer> {
  return encoder.encode(message);
}

/**
 * One frame in a buffer that is used again: valid only until the next call of either encoder in this thread.
 * For `socket.send(encodeForSend(block))`, which copies before it returns; allocates nothing once the buffer has grown.
 */
export function encodeForSend(message: FromBrowser | ToBrowser): Uint8Array<ArrayBuffer> {
  return encoder.encodeSharedRef(message);
}

/**
 * The validated message of a frame from the server. Byte fields are views of `bytes`, at any offset.
 * @throws ProtocolError naming the field and what is wrong with it.
 */
export function decodeToBrowser(bytes: Uint8Array | ArrayBuffer): ToBrowser {
  const value = decodeFrame(bytes);
  if (!validateToBrowser(value)) throw invalid(value, validateToBrowser.errors);
  return value;
}

/** `value` as the recorded episode that it is. @throws ProtocolError naming the field and what is wrong with it. */
export function recordedEpisode(value: unknown): RecordedEpisode {
  const game = { name: "-", sha256: "0".repeat(64), url: "-", has_page: false };
  const message = { type: "replay_episodes", replay_id: 0, game, episodes: [value], budget_seconds: 1 };
  if (!validateToBrowser(message)) throw invalid(message, validateToBrowser.errors);
  return value as RecordedEpisode;
}

/** The validated message of a frame from a browser; for fake servers in tests. @throws ProtocolError */
export function decodeFromBrowser(bytes: Uint8Array | ArrayBuffer): FromBrowser {
  const value = decodeFrame(bytes);
  if (!validateFromBrowser(value)) throw invalid(value, validateFromBrowser.errors);
  return value;
}

/**
 * The tensor of a typed array, without copying: it must be encoded before the array changes.
 * @param shape C order; its product must be the array's length.
 * @param dtype only to say that a `Uint16Array` holds float16 bits.
 * @throws RangeError when they do not fit.
 */
export function tensorOf(array: WireArray, shape: readonly number[], dtype: DType = dtypeOf(array)): Tensor {
  const size = shape.reduce((product, extent) => product * extent, 1);
  if (size !== array.length || BYTES_PER_ELEMENT[dtype] !== array.BYTES_PER_ELEMENT) {
    throw new RangeError(
      `shape [${shape}] ${dtype} does not fit ${array.constructor.name} of ${array.length}`,
    );
  }
  return { dtype, shape: [...shape], data: new Uint8Array(array.buffer, array.byteOffset, array.byteLength) };
}

/**
 * Throws unless the tensor is of this dtype and shape and has the bytes for it.
 * @param shape `null` matches any extent.
 * @throws ProtocolError naming the field, what came and what would be right.
 */
export function checkTensor(
  tensor: Tensor,
  name: string,
  dtype: DType,
  shape: readonly (number | null)[],
): void {
  const fits =
    tensor.shape.length === shape.length &&
    shape.every((extent, i) => extent === null || extent === tensor.shape[i]);
  if (tensor.dtype !== dtype || !fits) {
    throw new ProtocolError(
      `${name}: got ${tensor.dtype} [${tensor.shape}], must be ${dtype} [${shape.map((n) => n ?? "any")}]`,
    );
  }
  const bytes = tensor.shape.reduce((product, extent) => product * extent, 1) * BYTES_PER_ELEMENT[dtype];
  if (tensor.data.byteLength !== bytes) {
    throw new ProtocolError(`${name}: got ${tensor.data.byteLength} bytes, must be ${bytes}`);
  }
}

/** Its numbers; a view of the frame where alignment allows, else a copy. @throws ProtocolError for another dtype. */
export function float32View(tensor: Tensor, name = "tensor"): Float32Array {
  checkTensor(tensor, name, "float32", tensor.shape);
  const { buffer, byteOffset, byteLength } = aligned(tensor.data, 4);
  return new Float32Array(buffer, byteOffset, byteLength / 4);
}

/** Its numbers; a view of the frame where alignment allows, else a copy. @throws ProtocolError for another dtype. */
export function int32View(tensor: Tensor, name = "tensor"): Int32Array {
  checkTensor(tensor, name, "int32", tensor.shape);
  const { buffer, byteOffset, byteLength } = aligned(tensor.data, 4);
  return new Int32Array(buffer, byteOffset, byteLength / 4);
}

/** Its numbers; a view of the frame where alignment allows, else a copy. @throws ProtocolError for another dtype. */
export function uint16View(tensor: Tensor, name = "tensor"): Uint16Array {
  checkTensor(tensor, name, "uint16", tensor.shape);
  const { buffer, byteOffset, byteLength } = aligned(tensor.data, 2);
  return new Uint16Array(buffer, byteOffset, byteLength / 2);
}

function aligned(data: Uint8Array, bytes: number): Uint8Array {
  return data.byteOffset % bytes === 0 ? data : data.slice();
}

function dtypeOf(array: WireArray): DType {
  if (array instanceof Float32Array) return "float32";
  if (array instanceof Int32Array) return "int32";
  if (array instanceof Uint16Array) return "uint16";
  return "uint8";
}

function decodeFrame(bytes: Uint8Array | ArrayBuffer): unknown {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new ProtocolError(`the frame of ${bytes.byteLength} bytes is not MessagePack: ${String(error)}`);
  }
}

type ValidationErrors = typeof validateToBrowser.errors;

function invalid(value: unknown, errors: ValidationErrors): ProtocolError {
  const first = errors?.[0];
  const type =
    typeof value === "object" && value !== null && "type" in value ? String(value.type) : "a frame";
  const field = first?.instancePath.replaceAll("/", ".") ?? "";
  return new ProtocolError(
    `${type.slice(0, 40)}${field}: ${first?.message} (${JSON.stringify(first?.params)})`,
  );
}
