/** Whether it pays to deflate pictures: measured by a worker when it joins, of its own blocks and its own connection. */

/** Segments that are measured; the first play is the slowest. */
const MEASURED_SEGMENTS = 2;
/** By how much faster segments have to be: what is measured is not that exact. */
const WORTH = 0.9;

/** What was measured, and what follows. */
export interface Verdict {
  deflates: boolean;
  /** One line for people. */
  text: string;
}

/**
 * A worker plays a segment while the one before is under way: what it sends holds it up only where the connection takes longer
 * than its games do, and deflating is more for them to wait for. So a segment takes the longer of both, with and without.
 * Owned by one rollout worker, from the moment it takes its seat.
 */
export class DeflateChoice {
  /** Null until enough was measured; then it stays. */
  verdict: Verdict | null = null;
  readonly #report: (text: string) => void;
  #numSegments = 0;
  #playMs = 0;
  #sentBytes = 0;
  #triedMs = 0;
  /** Bytes of the measured block, of its pictures, and of its pictures deflated. */
  #triedBytes = 0;
  #pictureBytes = 0;
  #deflatedBytes = 0;
  #waitingBytes = 0;
  #waitingSince = 0;
  #busyMs = 0;
  #takenBytes = 0;

  /** @param report takes the verdict's line. */
  constructor(report: (text: string) => void) {
    this.#report = report;
  }

  /** Whether blocks are to be deflated. */
  get isOn(): boolean {
    return this.verdict?.deflates ?? false;
  }

  /** Whether a block is to be deflated once, to see what that takes and gives. */
  get wantsTrial(): boolean {
    return this.verdict === null && this.#triedBytes === 0;
  }

  /** A block of `blockBytes` was deflated in `ms`: its pictures went from `pictureBytes` to `deflatedBytes`. */
  tried(ms: number, blockBytes: number, pictureBytes: number, deflatedBytes: number): void {
    this.#triedMs = ms;
    this.#triedBytes = blockBytes;
    this.#pictureBytes = pictureBytes;
    this.#deflatedBytes = deflatedBytes;
  }

  /** Notes the bytes that are sent but not acknowledged; called whenever they may have changed. `now` in milliseconds. */
  waits(bytes: number, now: number): void {
    if (this.#waitingBytes > 0) this.#busyMs += now - this.#waitingSince;
    if (bytes < this.#waitingBytes) this.#takenBytes += this.#waitingBytes - bytes;
    this.#waitingBytes = bytes;
    this.#waitingSince = now;
  }

  /** A segment was played in `playMs`, and its blocks, of `bytes`, are on their way. */
  played(playMs: number, bytes: number): void {
    if (this.verdict !== null) return;
    this.#numSegments++;
    this.#playMs += playMs;
    this.#sentBytes += bytes;
    if (this.#numSegments < MEASURED_SEGMENTS || this.#triedBytes === 0) return;
    // The first segment must have been acknowledged in full.
    if (this.#takenBytes < this.#sentBytes / this.#numSegments) return;
    this.verdict = this.#decide();
    this.#report(this.verdict.text);
  }

  #decide(): Verdict {
    const play = this.#playMs / this.#numSegments;
    const bytes = this.#sentBytes / this.#numSegments;
    const msPerByte = this.#busyMs / this.#takenBytes;
    const share = this.#pictureBytes / this.#triedBytes;
    const kept = 1 - share * (1 - this.#deflatedBytes / Math.max(1, this.#pictureBytes));
    const deflating = (this.#triedMs / this.#triedBytes) * bytes;
    const plain = Math.max(play, bytes * msPerByte);
    const deflated = Math.max(play + deflating, kept * bytes * msPerByte);
    const deflates = deflated < WORTH * plain;
    const link = `a segment of ${Math.round(bytes / 1024)} KiB is played in ${play.toFixed(0)} ms and sent in ${(bytes * msPerByte).toFixed(0)}`;
    const squeeze = `deflated in ${deflating.toFixed(0)} ms it has ${(100 * kept).toFixed(0)} %`;
    return { deflates, text: `pictures are ${deflates ? "" : "not "}deflated: ${link}, ${squeeze}` };
  }
}
