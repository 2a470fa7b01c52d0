/** Frames over a blocking file descriptor: four bytes of length, little-endian, then the frame. */

import { readSync, writeSync } from "node:fs";

const LENGTH_BYTES = 4;

/** The other end is gone. */
export class PipeClosed extends Error {
  override readonly name = "PipeClosed";
}

/** One end of a socket pair, used by one thread alone, which waits in `read`. */
export class Pipe {
  readonly #fd: number;
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  /** No `Buffer`: its `slice` would not copy, as the codec's must. */
  #buffer = new Uint8Array(1 << 16);

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** The next frame, valid until the next call. @throws PipeClosed */
  read(): Uint8Array {
    this.#fill(this.#length, LENGTH_BYTES);
    const length = this.#length.readUInt32LE(0);
    if (length > this.#buffer.length) this.#buffer = new Uint8Array(2 * length);
    this.#fill(this.#buffer, length);
    return this.#buffer.subarray(0, length);
  }

  /** @throws PipeClosed */
  write(frame: Uint8Array): void {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(frame.byteLength, 0);
    this.#drain(length);
    this.#drain(frame);
  }

  #fill(buffer: Uint8Array, length: number): void {
    for (let at = 0; at < length; ) {
      const count = readSync(this.#fd, buffer, at, length - at, null);
      if (count === 0) throw new PipeClosed();
      at += count;
    }
  }

  #drain(bytes: Uint8Array): void {
    try {
      for (let at = 0; at < bytes.byteLength; ) at += writeSync(this.#fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EPIPE") throw new PipeClosed();
      throw error;
    }
  }
}
