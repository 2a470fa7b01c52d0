/** Episode results as MessagePack: short episodes end so often that the general encoder takes as long as playing them. */

import type { EpisodeResult } from "@attract/schema";

const KEYS: Record<keyof EpisodeResult, Uint8Array> = {
  instance_id: textBytes("instance_id"),
  episode: textBytes("episode"),
  step: textBytes("step"),
  returns: textBytes("returns"),
  length_steps: textBytes("length_steps"),
  length_ticks: textBytes("length_ticks"),
  end_reason: textBytes("end_reason"),
  metrics: textBytes("metrics"),
  reward_terms: textBytes("reward_terms"),
  lesson_id: textBytes("lesson_id"),
};
const NUM_KEYS = Object.keys(KEYS).length;
const NIL = 0xc0;
/** Most bytes of a number, or of the header of a list or map. */
const SCALAR_BYTES = 9;

/** Owned by one block writer; its buffer and the names it has met are kept. */
export class EpisodeEncoder {
  #bytes = new Uint8Array(1 << 12);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  /** Reasons, lessons, metrics and reward terms: always the same few. */
  readonly #texts = new Map<string, Uint8Array>();

  /** The list, byte for byte as `encodeMessage` has it; valid until the next call. */
  encode(results: readonly EpisodeResult[]): Uint8Array {
    this.#length = 0;
    this.#header(0x90, 0xdc, results.length);
    for (let i = 0; i < results.length; i++) this.#result(results[i]);
    return this.#bytes.subarray(0, this.#length);
  }

  #result(result: EpisodeResult): void {
    const { returns } = result;
    this.#header(0x80, 0xde, NUM_KEYS);
    this.#field(KEYS.instance_id, result.instance_id);
    this.#field(KEYS.episode, result.episode);
    this.#field(KEYS.step, result.step);
    this.#copy(KEYS.returns);
    this.#header(0x90, 0xdc, returns.length);
    for (let agent = 0; agent < returns.length; agent++) this.#number(returns[agent]);
    this.#field(KEYS.length_steps, result.length_steps);
    this.#field(KEYS.length_ticks, result.length_ticks);
    this.#copy(KEYS.end_reason);
    this.#text(result.end_reason);
    this.#copy(KEYS.metrics);
    this.#numbers(result.metrics);
    this.#copy(KEYS.reward_terms);
    this.#numbers(result.reward_terms);
    this.#copy(KEYS.lesson_id);
    if (result.lesson_id === null) this.#byte(NIL);
    else this.#text(result.lesson_id);
  }

  #field(key: Uint8Array, value: number): void {
    this.#copy(key);
    this.#number(value);
  }

  #numbers(named: Readonly<Record<string, number>>): void {
    const names = Object.keys(named);
    this.#header(0x80, 0xde, names.length);
    for (let i = 0; i < names.length; i++) {
      this.#text(names[i]);
      this.#number(named[names[i]]);
    }
  }

  #text(text: string): void {
    let bytes = this.#texts.get(text);
    if (bytes === undefined) {
      bytes = textBytes(text);
      this.#texts.set(text, bytes);
    }
    this.#copy(bytes);
  }

  /** Of a list or map: `short` for up to 15 entries, `long` for up to 65,535, `long + 1` beyond. */
  #header(short: number, long: number, count: number): void {
    if (count < 16) this.#byte(short | count);
    else if (count < 0x10000) this.#marked16(long, count);
    else this.#marked32(long + 1, count);
  }

  /** Whole numbers as short as they can be, others as float64. */
  #number(value: number): void {
    if (!Number.isSafeInteger(value) || value < -0x80000000 || value >= 0x100000000) this.#wide(value);
    else if (value >= 0) {
      if (value < 0x80) this.#byte(value);
      else if (value < 0x100) this.#marked8(0xcc, value);
      else if (value < 0x10000) this.#marked16(0xcd, value);
      else this.#marked32(0xce, value);
    } else if (value >= -0x20) this.#byte(value & 0xff);
    else if (value >= -0x80) this.#marked8(0xd0, value);
    else if (value >= -0x8000) this.#marked16(0xd1, value);
    else this.#marked32(0xd2, value);
  }

  #wide(value: number): void {
    this.#reserve(SCALAR_BYTES);
    const isWhole = Number.isSafeInteger(value);
    this.#bytes[this.#length] = isWhole ? (value < 0 ? 0xd3 : 0xcf) : 0xcb;
    if (!isWhole) this.#view.setFloat64(this.#length + 1, value);
    else {
      this.#view.setInt32(this.#length + 1, Math.floor(value / 0x100000000));
      this.#view.setUint32(this.#length + 5, value >>> 0);
    }
    this.#length += 9;
  }

  #byte(value: number): void {
    this.#reserve(SCALAR_BYTES);
    this.#bytes[this.#length++] = value;
  }

  #marked8(mark: number, value: number): void {
    this.#byte(mark);
    this.#bytes[this.#length++] = value;
  }

  #marked16(mark: number, value: number): void {
    this.#byte(mark);
    this.#view.setUint16(this.#length, value);
    this.#length += 2;
  }

  #marked32(mark: number, value: number): void {
    this.#byte(mark);
    this.#view.setUint32(this.#length, value);
    this.#length += 4;
  }

  #copy(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    const target = this.#bytes;
    let at = this.#length;
    // A call of `set` costs more than these few bytes.
    for (let i = 0; i < bytes.length; i++, at++) target[at] = bytes[i];
    this.#length = at;
  }

  #reserve(numBytes: number): void {
    if (this.#length + numBytes <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + numBytes));
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** Header and UTF-8 of `text`. */
function textBytes(text: string): Uint8Array {
  const utf8 = new TextEncoder().encode(text);
  const { length } = utf8;
  const header =
    length < 32
      ? [0xa0 | length]
      : length < 0x100
        ? [0xd9, length]
        : length < 0x10000
          ? [0xda, length >>> 8, length & 0xff]
          : [0xdb, length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff];
  return Uint8Array.from([...header, ...utf8]);
}
