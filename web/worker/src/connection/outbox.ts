/** Finished blocks until the server has acknowledged them: what a reconnect must send again (rule C1). */

import type { BlockFrame } from "../rollout/block-writer.ts";

interface Waiting {
  frame: BlockFrame;
  wasResent: boolean;
}

/** Owned by one worker's connection. Order of sending is kept. */
export class Outbox {
  #waiting: Waiting[] = [];
  #bytes = 0;

  /** Bytes of all unacknowledged frames. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Segments with an unacknowledged block. */
  get numSegments(): number {
    const segments = new Set(this.#waiting.map(({ frame }) => `${frame.leaseId}/${frame.segmentIndex}`));
    return segments.size;
  }

  add(frame: BlockFrame): void {
    this.#waiting.push({ frame, wasResent: false });
    this.#bytes += frame.bytes.byteLength;
  }

  /** Forgets an acknowledged block. Returns whether it had been sent once only; undefined if it was not waiting. */
  acknowledge(leaseId: number, blockIndex: number): boolean | undefined {
    const at = this.#waiting.findIndex(
      ({ frame }) => frame.leaseId === leaseId && frame.blockIndex === blockIndex,
    );
    if (at < 0) return undefined;
    const [{ frame, wasResent }] = this.#waiting.splice(at, 1);
    this.#bytes -= frame.bytes.byteLength;
    return !wasResent;
  }

  /** All that wait, marked as sent again. */
  resend(): BlockFrame[] {
    for (const waiting of this.#waiting) waiting.wasResent = true;
    return this.#waiting.map(({ frame }) => frame);
  }

  drop(leaseId: number): void {
    this.#waiting = this.#waiting.filter(({ frame }) => frame.leaseId !== leaseId);
    this.#bytes = this.#waiting.reduce((sum, { frame }) => sum + frame.bytes.byteLength, 0);
  }

  clear(): void {
    this.#waiting = [];
    this.#bytes = 0;
  }
}
